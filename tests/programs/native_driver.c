/* A linked-in driver that does a bit of everything: see native_driver.erl. */
#include <erl_driver.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

typedef struct {
    ErlDrvPort port;
    int ends[2];
} state;

static ErlDrvData start(ErlDrvPort port, char *command)
{
    if (strstr(command, "refuse") != NULL) {
        return ERL_DRV_ERROR_GENERAL;
    }
    state *made = driver_alloc(sizeof *made);
    made->port = port;
    made->ends[0] = made->ends[1] = -1;
    return (ErlDrvData)made;
}

static void stop(ErlDrvData data)
{
    state *mine = (state *)data;
    if (mine->ends[0] >= 0) {
        driver_select(mine->port, (ErlDrvEvent)(long)mine->ends[0], ERL_DRV_READ | ERL_DRV_USE, 0);
        close(mine->ends[1]);
    }
    driver_free(mine);
}

static void stop_select(ErlDrvEvent event, void *reserved)
{
    close((int)(long)event);
}

/* A message of every kind of term. */
static void send_terms(state *mine)
{
    double real = 2.5;
    ErlDrvSInt64 low = -1234567890123456789LL;
    ErlDrvUInt64 high = 12345678901234567890ULL;
    ErlDrvBinary *binary = driver_alloc_binary(6);
    memcpy(binary->orig_bytes, "binary", 6);
    ErlDrvTermData terms[] = {
        ERL_DRV_ATOM, driver_mk_atom("terms"),
        ERL_DRV_INT, (ErlDrvTermData)-42,
        ERL_DRV_UINT, 42,
        ERL_DRV_INT64, (ErlDrvTermData)&low,
        ERL_DRV_UINT64, (ErlDrvTermData)&high,
        ERL_DRV_FLOAT, (ErlDrvTermData)&real,
        ERL_DRV_BINARY, (ErlDrvTermData)binary, 4, 1,
        ERL_DRV_BUF2BINARY, (ErlDrvTermData)"bytes", 5,
        ERL_DRV_STRING, (ErlDrvTermData)"text", 4,
        ERL_DRV_NIL, ERL_DRV_STRING_CONS, (ErlDrvTermData)"more", 4,
        ERL_DRV_INT, 1, ERL_DRV_INT, 2, ERL_DRV_NIL, ERL_DRV_LIST, 3,
        ERL_DRV_ATOM, driver_mk_atom("key"), ERL_DRV_INT, 7, ERL_DRV_MAP, 1,
        ERL_DRV_TUPLE, 12,
    };
    erl_drv_output_term(driver_mk_port(mine->port), terms, sizeof terms / sizeof terms[0]);
    driver_free_binary(binary);
    ErlDrvTermData wrong[] = {ERL_DRV_TUPLE, 3};
    ErlDrvTermData answer[] = {ERL_DRV_ATOM, driver_mk_atom("refused"), ERL_DRV_INT,
                               erl_drv_output_term(driver_mk_port(mine->port), wrong, 2), ERL_DRV_TUPLE, 2};
    erl_drv_send_term(driver_mk_port(mine->port), driver_caller(mine->port), answer, 6);
}

static void work(void *data)
{
    ((char *)data)[0] = 'W';
}

static void output(ErlDrvData data, char *bytes, ErlDrvSizeT length)
{
    state *mine = (state *)data;
    switch (bytes[0]) {
    case 'e':
        driver_output(mine->port, bytes, length);
        break;
    case 'h':
        driver_output2(mine->port, "head", 4, bytes, length);
        break;
    case 't':
        send_terms(mine);
        break;
    case 's':
        driver_set_timer(mine->port, 20);
        break;
    case 'a': {
        char *copy = driver_alloc(length);
        memcpy(copy, bytes, length);
        driver_async(mine->port, NULL, work, copy, driver_free);
        break;
    }
    case 'p':
        if (mine->ends[0] < 0 && pipe(mine->ends) == 0) {
            driver_select(mine->port, (ErlDrvEvent)(long)mine->ends[0], ERL_DRV_READ | ERL_DRV_USE, 1);
        }
        if (write(mine->ends[1], bytes, length) < 0) {
            driver_failure_posix(mine->port, EPIPE);
        }
        break;
    case 'q':
        driver_enq(mine->port, bytes, length);
        driver_set_timer(mine->port, 100);
        break;
    case 'f':
        driver_failure_atom(mine->port, "failed");
        break;
    }
}

static void ready_input(ErlDrvData data, ErlDrvEvent event)
{
    state *mine = (state *)data;
    char bytes[100];
    long count = read((int)(long)event, bytes, sizeof bytes);
    driver_output2(mine->port, "input", 5, bytes, count);
}

static void ready_async(ErlDrvData data, ErlDrvThreadData bytes)
{
    driver_output(((state *)data)->port, (char *)bytes, 3);
    driver_free(bytes);
}

static void timeout(ErlDrvData data)
{
    state *mine = (state *)data;
    ErlDrvSizeT queued = driver_sizeq(mine->port);
    if (queued > 0) {
        int count;
        SysIOVec *pieces = driver_peekq(mine->port, &count);
        driver_output2(mine->port, "queue", 5, pieces[0].iov_base, pieces[0].iov_len);
        driver_deq(mine->port, queued);
    } else {
        driver_output(mine->port, "timeout", 7);
    }
}

static ErlDrvSSizeT control(ErlDrvData data, unsigned command, char *bytes, ErlDrvSizeT length, char **answer,
                            ErlDrvSizeT room)
{
    state *mine = (state *)data;
    switch (command) {
    case 1:
        memcpy(*answer, bytes, length);
        return length;
    case 2:
        *answer = driver_alloc(1000);
        memset(*answer, 'x', 1000);
        return 1000;
    case 3: {
        set_port_control_flags(mine->port, PORT_CONTROL_FLAG_BINARY);
        ErlDrvBinary *binary = driver_alloc_binary(300);
        memset(binary->orig_bytes, 'y', 300);
        *answer = (char *)binary;
        return 300;
    }
    }
    return -1;
}

static ErlDrvSSizeT call(ErlDrvData data, unsigned command, char *bytes, ErlDrvSizeT length, char **answer,
                         ErlDrvSizeT room, unsigned *flags)
{
    if (command != 1) {
        return -1;
    }
    *answer = driver_alloc(length);
    memcpy(*answer, bytes, length);
    return length;
}

static void flush(ErlDrvData data)
{
    driver_output(((state *)data)->port, "flush", 5);
}


static ErlDrvEntry entry = {
    .start = start,
    .stop = stop,
    .output = output,
    .ready_input = ready_input,
    .driver_name = "native_driver",
    .control = control,
    .timeout = timeout,
    .ready_async = ready_async,
    .flush = flush,
    .call = call,
    .stop_select = stop_select,
    .extended_marker = ERL_DRV_EXTENDED_MARKER,
    .major_version = ERL_DRV_EXTENDED_MAJOR_VERSION,
    .minor_version = ERL_DRV_EXTENDED_MINOR_VERSION,
    .driver_flags = ERL_DRV_FLAG_USE_PORT_LOCKING,
};

DRIVER_INIT(native_driver)
{
    return &entry;
}
