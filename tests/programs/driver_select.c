/* A linked-in driver whose ports share descriptors: see driver_select.erl. */
#include <erl_driver.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A pipe that all ports use, and how often the driver was told that its ends are not used any more. */
static int ends[2] = {-1, -1};
static int stopped[2];

static ErlDrvEvent event(int end)
{
    return (ErlDrvEvent)(long)ends[end];
}

static ErlDrvData start(ErlDrvPort port, char *command)
{
    if (ends[0] < 0 && pipe(ends) != 0) {
        return ERL_DRV_ERROR_GENERAL;
    }
    return (ErlDrvData)port;
}

static void stop_select(ErlDrvEvent stopping, void *reserved)
{
    stopped[(int)(long)stopping == ends[0] ? 0 : 1]++;
}

static ErlDrvSSizeT control(ErlDrvData data, unsigned command, char *bytes, ErlDrvSizeT length, char **answer,
                            ErlDrvSizeT room)
{
    ErlDrvPort port = (ErlDrvPort)data;
    switch (command) {
    case 0: /* [End, Mode, On] */
        (*answer)[0] = driver_select(port, event(bytes[0]), bytes[1], bytes[2]) == 0;
        return 1;
    case 1:
        (*answer)[0] = write(ends[1], bytes, length);
        return 1;
    case 2:
        (*answer)[0] = stopped[0];
        (*answer)[1] = stopped[1];
        return 2;
    }
    return -1;
}

static void ready_input(ErlDrvData data, ErlDrvEvent ready)
{
    char bytes[100];
    long count = read((int)(long)ready, bytes, sizeof bytes);
    driver_output((ErlDrvPort)data, bytes, count);
}

/* It stays ready, so this tells it once. */
static void ready_output(ErlDrvData data, ErlDrvEvent ready)
{
    driver_select((ErlDrvPort)data, ready, ERL_DRV_WRITE, 0);
    driver_output((ErlDrvPort)data, "writable", 8);
}

static ErlDrvEntry entry = {
    .start = start,
    .ready_input = ready_input,
    .ready_output = ready_output,
    .driver_name = "driver_select",
    .control = control,
    .stop_select = stop_select,
    .extended_marker = ERL_DRV_EXTENDED_MARKER,
    .major_version = ERL_DRV_EXTENDED_MAJOR_VERSION,
    .minor_version = ERL_DRV_EXTENDED_MINOR_VERSION,
    .driver_flags = ERL_DRV_FLAG_USE_PORT_LOCKING,
};

DRIVER_INIT(driver_select)
{
    return &entry;
}
