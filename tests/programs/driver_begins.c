/* A linked-in driver that says later whether a port of it has been opened, and sends when one ends: see
 * driver_begins.erl. */
#include <erl_driver.h>
#include <errno.h>
#include <string.h>

typedef struct {
    ErlDrvPort port;
    ErlDrvTermData owner;
    int how;
} state;

static void tell(state *mine, char *what)
{
    ErlDrvTermData words[] = {ERL_DRV_ATOM, driver_mk_atom(what), ERL_DRV_PORT, driver_mk_port(mine->port),
                              ERL_DRV_TUPLE, 2};
    erl_drv_send_term(driver_mk_port(mine->port), mine->owner, words, 6);
}

static ErlDrvData start(ErlDrvPort port, char *command)
{
    state *made;
    char *how = strchr(command, ' ');
    if (how == NULL || how[1] == 'r')
        return ERL_DRV_ERROR_BADARG;
    made = driver_alloc(sizeof *made);
    made->port = port;
    made->owner = driver_connected(port);
    made->how = how[1];
    driver_set_timer(port, 20);
    return (ErlDrvData)made;
}

static void stop(ErlDrvData data)
{
    tell((state *)data, "stopped");
    driver_free((void *)data);
}

/* The end of the timer: the answer to whoever opens the port. */
static void timeout(ErlDrvData data)
{
    state *mine = (state *)data;
    tell(mine, "due");
    switch (mine->how) {
    case 'o':
        erl_drv_init_ack(mine->port, data);
        erl_drv_init_ack(mine->port, ERL_DRV_ERROR_GENERAL);
        break;
    case 'b':
        erl_drv_init_ack(mine->port, ERL_DRV_ERROR_BADARG);
        break;
    case 'e':
        errno = ENOENT;
        erl_drv_init_ack(mine->port, ERL_DRV_ERROR_ERRNO);
        break;
    case 'g':
        erl_drv_init_ack(mine->port, ERL_DRV_ERROR_GENERAL);
        break;
    case 'f':
        driver_failure_atom(mine->port, "failed");
        break;
    case 'z':
        driver_failure_eof(mine->port);
        break;
    }
}

static ErlDrvSSizeT control(ErlDrvData data, unsigned command, char *bytes, ErlDrvSizeT length, char **answer,
                            ErlDrvSizeT room)
{
    (*answer)[0] = ((state *)data)->how;
    return 1;
}

static ErlDrvEntry entry = {
    .start = start,
    .stop = stop,
    .driver_name = "driver_begins",
    .control = control,
    .timeout = timeout,
    .extended_marker = ERL_DRV_EXTENDED_MARKER,
    .major_version = ERL_DRV_EXTENDED_MAJOR_VERSION,
    .minor_version = ERL_DRV_EXTENDED_MINOR_VERSION,
    .driver_flags = ERL_DRV_FLAG_USE_PORT_LOCKING | ERL_DRV_FLAG_USE_INIT_ACK,
};

DRIVER_INIT(driver_begins)
{
    return &entry;
}
