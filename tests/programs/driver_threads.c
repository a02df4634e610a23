/* A linked-in driver whose threads use its port's queue and send terms: see driver_threads.erl. */
#include <erl_driver.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct {
    ErlDrvPort port;
    ErlDrvPDL lock;
} state;

/* A port that stays open, and what a port's functions had returned while it closed. */
static ErlDrvTermData witness;
static int at_end[6];
/* Threads that have been started: their code must stay until their end. */
static ErlDrvTid threads[2];
static int started;

/* What a thread works with, which outlives the port. */
typedef struct {
    ErlDrvPort port;
    ErlDrvTermData id;
    ErlDrvPDL lock;
    ErlDrvTermData told;
    ErlDrvTermData dead;
    long results[8];
    char bytes[16];
} job;

static job *new_job(state *mine, char *bytes, ErlDrvSizeT length)
{
    job *made = driver_alloc(sizeof *made);
    memset(made, 0, sizeof *made);
    made->port = mine->port;
    made->id = driver_mk_port(mine->port);
    made->lock = mine->lock;
    made->told = driver_caller(mine->port);
    memcpy(made->bytes, bytes, length < 15 ? length : 15);
    driver_pdl_inc_refc(mine->lock);
    return made;
}

/* Sends {Name, [Result], Bytes}. */
static int tell(job *mine, char *name, int results)
{
    ErlDrvTermData words[32] = {ERL_DRV_ATOM, driver_mk_atom(name)};
    int count = 2;
    for (int i = 0; i < results; i++) {
        words[count++] = ERL_DRV_INT;
        words[count++] = (ErlDrvTermData)mine->results[i];
    }
    ErlDrvTermData rest[] = {ERL_DRV_NIL,      ERL_DRV_LIST, (ErlDrvTermData)results + 1,
                             ERL_DRV_STRING,   (ErlDrvTermData)mine->bytes,
                             strlen(mine->bytes), ERL_DRV_TUPLE, 3};
    memcpy(words + count, rest, sizeof rest);
    return erl_drv_send_term(mine->id, mine->told, words, count + sizeof rest / sizeof rest[0]);
}

/* Beside the schedulers, under the driver's own lock. */
static void with_queue(void *data)
{
    job *mine = data;
    driver_pdl_lock(mine->lock);
    mine->results[0] = driver_enq(mine->port, "thread", 6);
    mine->results[1] = driver_pushq(mine->port, "front", 5);
    mine->results[2] = (long)driver_sizeq(mine->port);
    ErlIOVec vector;
    mine->results[3] = (long)driver_peekqv(mine->port, &vector);
    mine->results[4] = (long)driver_deq(mine->port, 2);
    int count = 0;
    SysIOVec *pieces = driver_peekq(mine->port, &count);
    mine->results[5] = count;
    memcpy(mine->bytes, pieces[0].iov_base, 3);
    mine->bytes[3] = 0;
    mine->results[6] = (long)driver_deq(mine->port, 1000);
    pieces = driver_peekq(mine->port, &count);
    mine->results[7] = count * 10 + (pieces == NULL);
    driver_pdl_unlock(mine->lock);
    tell(mine, "queue", 8);
}

/* Terms that are wrong, that nobody gets, and one that somebody gets. */
static void with_terms(void *data)
{
    job *mine = data;
    ErlDrvTermData few[] = {ERL_DRV_TUPLE, 2}, unknown[] = {99, 1}, two[] = {ERL_DRV_NIL, ERL_DRV_NIL};
    ErlDrvTermData good[] = {ERL_DRV_ATOM, driver_mk_atom("good")};
    mine->results[0] = erl_drv_send_term(mine->id, mine->told, few, 2);
    mine->results[1] = erl_drv_send_term(mine->id, mine->told, unknown, 2);
    mine->results[2] = erl_drv_send_term(mine->id, mine->told, two, 2);
    mine->results[3] = erl_drv_send_term(mine->id, mine->dead, good, 2);
    mine->results[4] = erl_drv_send_term(mine->id, mine->told, good, 2);
    mine->results[5] = erl_drv_output_term(mine->id, good, 2);
    mine->results[6] = erl_drv_output_term(mine->id, few, 2);
    mine->results[7] = erl_drv_send_term(mine->id, mine->dead, few, 2);
    tell(mine, "terms", 8);
}

static void given_up(void *data)
{
    driver_pdl_dec_refc(((job *)data)->lock);
    driver_free(data);
}

/* A thread of the driver's own, which goes on when the port is closed. */
static void *with_closed(void *data)
{
    job *mine = data;
    usleep(400000);
    int count = 7;
    ErlIOVec vector;
    ErlDrvTermData good[] = {ERL_DRV_ATOM, driver_mk_atom("good")}, few[] = {ERL_DRV_TUPLE, 2};
    driver_pdl_lock(mine->lock);
    SysIOVec *pieces = driver_peekq(mine->port, &count);
    mine->results[0] = count * 10 + (pieces == NULL);
    mine->results[1] = (int)driver_sizeq(mine->port);
    mine->results[2] = (int)driver_peekqv(mine->port, &vector);
    mine->results[3] = (int)driver_deq(mine->port, 1);
    mine->results[4] = driver_enq(mine->port, "x", 1);
    driver_pdl_unlock(mine->lock);
    mine->results[5] = erl_drv_output_term(mine->id, good, 2);
    mine->results[6] = erl_drv_output_term(mine->id, few, 2);
    mine->results[7] = erl_drv_send_term(mine->id, mine->told, good, 2);
    mine->id = witness;
    tell(mine, "closed", 8);
    given_up(mine);
    return NULL;
}

static ErlDrvData start(ErlDrvPort port, char *command)
{
    state *made = driver_alloc(sizeof *made);
    made->port = port;
    made->lock = driver_pdl_create(port);
    return (ErlDrvData)made;
}

static void ending(state *mine, int *results)
{
    ErlDrvTermData good[] = {ERL_DRV_ATOM, driver_mk_atom("ending")};
    results[0] = erl_drv_output_term(driver_mk_port(mine->port), good, 2);
    results[1] = erl_drv_send_term(driver_mk_port(mine->port), driver_caller(mine->port), good, 2);
    results[2] = (int)driver_sizeq(mine->port);
}

static void flush(ErlDrvData data)
{
    ending((state *)data, at_end);
}

static void stop(ErlDrvData data)
{
    ending((state *)data, at_end + 3);
    driver_free((void *)data);
}

static ErlDrvSSizeT control(ErlDrvData data, unsigned command, char *bytes, ErlDrvSizeT length, char **answer,
                            ErlDrvSizeT room)
{
    state *mine = (state *)data;
    job *made = new_job(mine, bytes, length);
    switch (command) {
    case 1:
        driver_async(mine->port, NULL, with_queue, made, given_up);
        break;
    case 2:
        /* The process that owned the port before has ended. */
        made->dead = *(ErlDrvTermData *)bytes;
        made->bytes[0] = 0;
        driver_async(mine->port, NULL, with_terms, made, given_up);
        break;
    case 3:
        driver_deq(mine->port, driver_sizeq(mine->port));
        if (length > 4) {
            driver_enq(mine->port, bytes, length);
        }
        erl_drv_thread_create("closed", &threads[started++], with_closed, made, NULL);
        break;
    case 5:
        witness = made->id;
        given_up(made);
        break;
    case 7:
        given_up(made);
        while (started > 0) {
            erl_drv_thread_join(threads[--started], NULL);
        }
        break;
    case 6:
        given_up(made);
        for (int i = 0; i < 6; i++) {
            (*answer)[i] = at_end[i];
        }
        return 6;
    case 4: {
        /* The caller's word, for command 2. */
        ErlDrvTermData caller = driver_caller(mine->port);
        memcpy(*answer, &caller, sizeof caller);
        given_up(made);
        return sizeof caller;
    }
    }
    return 0;
}

static void ready_async(ErlDrvData data, ErlDrvThreadData made)
{
    given_up(made);
}

static ErlDrvEntry entry = {
    .start = start,
    .stop = stop,
    .driver_name = "driver_threads",
    .control = control,
    .flush = flush,
    .ready_async = ready_async,
    .extended_marker = ERL_DRV_EXTENDED_MARKER,
    .major_version = ERL_DRV_EXTENDED_MAJOR_VERSION,
    .minor_version = ERL_DRV_EXTENDED_MINOR_VERSION,
    .driver_flags = ERL_DRV_FLAG_USE_PORT_LOCKING,
};

DRIVER_INIT(driver_threads)
{
    return &entry;
}
