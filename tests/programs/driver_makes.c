/* A linked-in driver that makes ports and drivers, and stays for good when it is told to: see driver_makes.erl. */
#include <erl_driver.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    ErlDrvPort port;
    int is_made;
} state;

static ErlDrvEntry entry, other;

static ErlDrvData start(ErlDrvPort port, char *command)
{
    state *made = driver_alloc(sizeof *made);
    made->port = port;
    made->is_made = 0;
    return (ErlDrvData)made;
}

static void stop(ErlDrvData data)
{
    driver_free((void *)data);
}

static ErlDrvSSizeT control(ErlDrvData data, unsigned command, char *bytes, ErlDrvSizeT length, char **answer,
                            ErlDrvSizeT room)
{
    state *mine = (state *)data;
    switch (command) {
    case 1: {
        state *made = driver_alloc(sizeof *made);
        made->is_made = 1;
        made->port = driver_create_port(mine->port, driver_caller(mine->port), "a name", (ErlDrvData)made);
        ErlDrvTermData words[] = {ERL_DRV_ATOM, driver_mk_atom("made"), ERL_DRV_PORT, driver_mk_port(made->port),
                                  ERL_DRV_TUPLE, 2};
        erl_drv_send_term(driver_mk_port(mine->port), driver_caller(mine->port), words, 6);
        return 0;
    }
    case 2:
        erl_drv_set_os_pid(mine->port, 4711);
        return 0;
    case 3:
        add_driver_entry(&other);
        return 0;
    case 4:
        (*answer)[0] = remove_driver_entry(&other) + 10;
        (*answer)[1] = remove_driver_entry(&entry) + 10;
        return 2;
    case 5:
        (*answer)[0] = driver_lock_driver(mine->port) == 0;
        return 1;
    case 6:
        memcpy(*answer, mine->is_made ? "made" : "opened", mine->is_made ? 4 : 6);
        return mine->is_made ? 4 : 6;
    case 7: {
        ErlDrvSizeT limits[2];
        memcpy(limits, bytes, sizeof limits);
        erl_drv_busy_msgq_limits(mine->port, length & 1 ? NULL : &limits[0], length & 2 ? NULL : &limits[1]);
        memcpy(*answer, limits, sizeof limits);
        return sizeof limits;
    }
    case 8: {
        ErlDrvNowData now;
        (*answer)[0] = driver_get_now(NULL) + 10;
        (*answer)[1] = driver_get_now(&now) + 10;
        memcpy(*answer + 2, &now, sizeof now);
        return 2 + sizeof now;
    }
    }
    return -1;
}

static ErlDrvEntry entry = {
    .start = start,
    .stop = stop,
    .driver_name = "driver_makes",
    .control = control,
    .extended_marker = ERL_DRV_EXTENDED_MARKER,
    .major_version = ERL_DRV_EXTENDED_MAJOR_VERSION,
    .minor_version = ERL_DRV_EXTENDED_MINOR_VERSION,
    .driver_flags = ERL_DRV_FLAG_USE_PORT_LOCKING,
};

static ErlDrvEntry other = {
    .start = start,
    .stop = stop,
    .driver_name = "driver_added",
    .control = control,
    .extended_marker = ERL_DRV_EXTENDED_MARKER,
    .major_version = ERL_DRV_EXTENDED_MAJOR_VERSION,
    .minor_version = ERL_DRV_EXTENDED_MINOR_VERSION,
    .driver_flags = ERL_DRV_FLAG_USE_PORT_LOCKING,
};

DRIVER_INIT(driver_makes)
{
    return &entry;
}
