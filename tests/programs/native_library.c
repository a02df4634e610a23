/* The library of native_library.erl: functions that use the interface of native functions as widely as one can. */

#include <erl_nif.h>
#include <string.h>
#include <unistd.h>

static ErlNifResourceType *kind;
static ErlNifPid witness;

typedef struct {
    int number;
    ErlNifPid owner;
} thing;

static void destroy(ErlNifEnv *env, void *object)
{
    thing *one = object;
    ErlNifEnv *own = enif_alloc_env();
    (void)env;
    enif_send(NULL, &one->owner, own,
              enif_make_tuple2(own, enif_make_atom(own, "destroyed"), enif_make_int(own, one->number)));
    enif_free_env(own);
}

static void down(ErlNifEnv *env, void *object, ErlNifPid *pid, ErlNifMonitor *monitor)
{
    thing *one = object;
    (void)monitor;
    enif_send(env, &one->owner, NULL, enif_make_tuple2(env, enif_make_atom(env, "down"), enif_make_pid(env, pid)));
}

static void stop(ErlNifEnv *env, void *object, ErlNifEvent event, int direct)
{
    (void)env, (void)object, (void)direct;
    close(event);
}

static int load(ErlNifEnv *env, void **private, ERL_NIF_TERM info)
{
    ErlNifResourceTypeInit init = {destroy, stop, down, 3, NULL};
    int number;
    kind = enif_open_resource_type_x(env, "thing", &init, ERL_NIF_RT_CREATE, NULL);
    if (kind == NULL || !enif_get_int(env, info, &number)) {
        return 1;
    }
    *private = (void *)(long)number;
    return 0;
}

static ERL_NIF_TERM private_data(ErlNifEnv *env, int argc, const ERL_NIF_TERM argv[])
{
    return enif_make_long(env, (long)enif_priv_data(env));
}

/* What a term is, and what can be read of it. */
static ERL_NIF_TERM describe(ErlNifEnv *env, int argc, const ERL_NIF_TERM argv[])
{
    ERL_NIF_TERM term = argv[0], list = enif_make_list(env, 0), head, tail;
    int number, arity;
    long large;
    unsigned long positive;
    double real;
    unsigned length;
    size_t size;
    const ERL_NIF_TERM *elements;
    char text[64];
    ErlNifBinary binary;
#define ADD(what) list = enif_make_list_cell(env, what, list)
    ADD(enif_make_int(env, enif_term_type(env, term)));
    if (enif_get_int(env, term, &number)) {
        ADD(enif_make_tuple2(env, enif_make_atom(env, "int"), enif_make_int(env, number)));
    }
    if (enif_get_long(env, term, &large)) {
        ADD(enif_make_tuple2(env, enif_make_atom(env, "long"), enif_make_long(env, large)));
    }
    if (enif_get_ulong(env, term, &positive)) {
        ADD(enif_make_tuple2(env, enif_make_atom(env, "ulong"), enif_make_ulong(env, positive)));
    }
    if (enif_get_double(env, term, &real)) {
        ADD(enif_make_double(env, real * 2));
    }
    if (enif_get_atom(env, term, text, sizeof text, ERL_NIF_LATIN1)) {
        ADD(enif_make_string(env, text, ERL_NIF_LATIN1));
    }
    number = enif_get_string(env, term, text, 5, ERL_NIF_LATIN1);
    ADD(enif_make_tuple3(env, enif_make_atom(env, "string"), enif_make_int(env, number),
                         number == 0 ? enif_make_list(env, 0) : enif_make_string(env, text, ERL_NIF_LATIN1)));
    if (enif_get_list_length(env, term, &length)) {
        ADD(enif_make_uint(env, length));
    }
    if (enif_get_list_cell(env, term, &head, &tail)) {
        ADD(enif_make_list_cell(env, tail, head));
    }
    if (enif_get_tuple(env, term, &arity, &elements)) {
        ADD(enif_make_list_from_array(env, elements, (unsigned)arity));
    }
    if (enif_get_map_size(env, term, &size)) {
        ADD(enif_make_ulong(env, size));
    }
    if (enif_inspect_iolist_as_binary(env, term, &binary)) {
        ADD(enif_make_binary(env, &binary));
    }
    enif_snprintf(text, sizeof text, "%d %5.2f %s|%T", argc, 3.14159, "text", enif_make_atom(env, "An atom"));
    ADD(enif_make_string(env, text, ERL_NIF_LATIN1));
    return list;
}

/* A binary of so many bytes, its first half, and the same by other ways. */
static ERL_NIF_TERM binaries(ErlNifEnv *env, int argc, const ERL_NIF_TERM argv[])
{
    unsigned size;
    ERL_NIF_TERM made, whole, back;
    ErlNifBinary owned, encoded;
    if (!enif_get_uint(env, argv[0], &size)) {
        return enif_make_badarg(env);
    }
    memset(enif_make_new_binary(env, size, &made), 'n', size);
    enif_alloc_binary(size / 2, &owned);
    memset(owned.data, 'o', size / 2);
    enif_realloc_binary(&owned, size);
    memset(owned.data + size / 2, 'r', size - size / 2);
    whole = enif_make_binary(env, &owned);
    enif_term_to_binary(env, enif_make_tuple2(env, made, whole), &encoded);
    enif_binary_to_term(env, encoded.data, encoded.size, &back, 0);
    enif_release_binary(&encoded);
    return enif_make_tuple4(env, made, whole, enif_make_sub_binary(env, whole, size > 1, size / 2), back);
}

/* The pairs of a map, with sums in the place of values; from both ends. */
static ERL_NIF_TERM maps(ErlNifEnv *env, int argc, const ERL_NIF_TERM argv[])
{
    ErlNifMapIterator iterator;
    ERL_NIF_TERM key, value, made = enif_make_new_map(env), list = enif_make_list(env, 0);
    if (!enif_map_iterator_create(env, argv[0], &iterator, ERL_NIF_MAP_ITERATOR_LAST)) {
        return enif_raise_exception(env, enif_make_tuple2(env, enif_make_atom(env, "no_map"), argv[0]));
    }
    while (enif_map_iterator_get_pair(env, &iterator, &key, &value)) {
        enif_make_map_put(env, made, key, enif_make_tuple1(env, value), &made);
        list = enif_make_list_cell(env, key, list);
        enif_map_iterator_prev(env, &iterator);
    }
    enif_map_iterator_destroy(env, &iterator);
    enif_make_map_remove(env, made, enif_make_int(env, 1), &made);
    return enif_make_tuple2(env, list, made);
}

static ERL_NIF_TERM make_thing(ErlNifEnv *env, int argc, const ERL_NIF_TERM argv[])
{
    ERL_NIF_TERM term;
    thing *one = enif_alloc_resource(kind, sizeof *one);
    if (!enif_get_int(env, argv[0], &one->number)) {
        one->number = -1;
    }
    enif_self(env, &one->owner);
    term = enif_make_resource(env, one);
    enif_release_resource(one);
    return term;
}

/* A resource that no term refers to. */
static ERL_NIF_TERM drop_thing(ErlNifEnv *env, int argc, const ERL_NIF_TERM argv[])
{
    thing *one = enif_alloc_resource(kind, sizeof *one);
    if (!enif_get_int(env, argv[0], &one->number)) {
        one->number = -1;
    }
    enif_self(env, &one->owner);
    enif_keep_resource(one);
    enif_release_resource(one);
    enif_release_resource(one);
    return enif_make_atom(env, "ok");
}

static ERL_NIF_TERM thing_number(ErlNifEnv *env, int argc, const ERL_NIF_TERM argv[])
{
    thing *one;
    if (!enif_get_resource(env, argv[0], kind, (void **)&one)) {
        return enif_make_badarg(env);
    }
    return enif_make_int(env, one->number);
}

static ERL_NIF_TERM watch(ErlNifEnv *env, int argc, const ERL_NIF_TERM argv[])
{
    thing *one;
    ErlNifPid pid;
    if (!enif_get_resource(env, argv[0], kind, (void **)&one) || !enif_get_local_pid(env, argv[1], &pid)) {
        return enif_make_badarg(env);
    }
    return enif_make_int(env, enif_monitor_process(env, one, &pid, NULL));
}

/* Asks to be told when a byte can be read that is written at once. */
static ERL_NIF_TERM wait_for_pipe(ErlNifEnv *env, int argc, const ERL_NIF_TERM argv[])
{
    thing *one;
    int ends[2], status;
    if (!enif_get_resource(env, argv[0], kind, (void **)&one) || pipe(ends) != 0) {
        return enif_make_badarg(env);
    }
    status = enif_select(env, ends[0], ERL_NIF_SELECT_READ, one, NULL, argv[1]);
    if (write(ends[1], "x", 1) != 1) {
        status = -1;
    }
    close(ends[1]);
    return enif_make_tuple2(env, enif_make_int(env, status), enif_make_int(env, ends[0]));
}

static ERL_NIF_TERM end_wait(ErlNifEnv *env, int argc, const ERL_NIF_TERM argv[])
{
    thing *one;
    int end;
    if (!enif_get_resource(env, argv[0], kind, (void **)&one) || !enif_get_int(env, argv[1], &end)) {
        return enif_make_badarg(env);
    }
    return enif_make_int(env, enif_select(env, end, ERL_NIF_SELECT_STOP, one, NULL, enif_make_atom(env, "undefined")));
}

/* A list of so many elements that are built of an argument, on the thread that the flags say. */
static ERL_NIF_TERM many(ErlNifEnv *env, int argc, const ERL_NIF_TERM argv[])
{
    int count;
    ERL_NIF_TERM list = enif_make_list(env, 0);
    if (!enif_get_int(env, argv[0], &count) || count < 0) {
        return enif_make_badarg(env);
    }
    while (count-- > 0) {
        list = enif_make_list_cell(env, enif_make_tuple2(env, enif_make_int(env, count), argv[1]), list);
    }
    return enif_make_tuple2(env, enif_make_int(env, enif_thread_type()), list);
}

/* Counts down, one call at a time, between ordinary and dirty threads; raises at the end if asked to. */
static ERL_NIF_TERM count_down(ErlNifEnv *env, int argc, const ERL_NIF_TERM argv[])
{
    int left;
    ERL_NIF_TERM next[3];
    if (!enif_get_int(env, argv[0], &left)) {
        return enif_make_badarg(env);
    }
    if (left == 0) {
        return enif_is_atom(env, argv[1]) ? enif_raise_exception(env, argv[2]) : argv[2];
    }
    next[0] = enif_make_int(env, left - 1);
    next[1] = argv[1];
    next[2] = enif_make_list_cell(env, enif_make_int(env, enif_thread_type()), argv[2]);
    return enif_schedule_nif(env, "count_down", left % 3 == 0 ? 0 : left % 3 == 1 ? ERL_NIF_DIRTY_JOB_CPU_BOUND
                                                                                   : ERL_NIF_DIRTY_JOB_IO_BOUND,
                             count_down, 3, next);
}

static void *tell(void *data)
{
    ErlNifEnv *env = enif_alloc_env();
    ERL_NIF_TERM list = enif_make_list(env, 0), copied = enif_make_copy(env, *(ERL_NIF_TERM *)data);
    for (int number = 0; number < 100; number++) {
        list = enif_make_list_cell(env, enif_make_tuple2(env, enif_make_int(env, number), copied), list);
    }
    enif_send(NULL, &witness, env, enif_make_tuple2(env, enif_make_atom(env, "told"), list));
    enif_free_env(env);
    return data;
}

/* Has a thread of its own tell the caller a term of an environment of its own. */
static ERL_NIF_TERM from_thread(ErlNifEnv *env, int argc, const ERL_NIF_TERM argv[])
{
    ErlNifTid thread;
    ErlNifEnv *own = enif_alloc_env();
    ERL_NIF_TERM copied = enif_make_copy(own, argv[0]);
    void *result;
    char name[] = "teller";
    enif_self(env, &witness);
    enif_thread_create(name, &thread, tell, &copied, NULL);
    enif_thread_join(thread, &result);
    copied = enif_make_copy(env, copied);
    enif_free_env(own);
    return result == NULL ? enif_make_badarg(env) : copied;
}

static ERL_NIF_TERM hashes(ErlNifEnv *env, int argc, const ERL_NIF_TERM argv[])
{
    return enif_make_tuple3(env, enif_make_ulong(env, enif_hash(ERL_NIF_PHASH2, argv[0], 0)),
                            enif_make_int(env, enif_compare(argv[0], argv[1]) < 0),
                            enif_make_int(env, enif_is_identical(argv[0], argv[1])));
}

static ErlNifFunc functions[] = {
    {"private_data", 0, private_data, 0},
    {"describe", 1, describe, 0},
    {"binaries", 1, binaries, 0},
    {"maps", 1, maps, 0},
    {"make_thing", 1, make_thing, 0},
    {"drop_thing", 1, drop_thing, 0},
    {"thing_number", 1, thing_number, 0},
    {"watch", 2, watch, 0},
    {"wait_for_pipe", 2, wait_for_pipe, 0},
    {"end_wait", 2, end_wait, 0},
    {"many", 2, many, 0},
    {"many_dirty", 2, many, ERL_NIF_DIRTY_JOB_CPU_BOUND},
    {"many_waiting", 2, many, ERL_NIF_DIRTY_JOB_IO_BOUND},
    {"count_down", 3, count_down, 0},
    {"from_thread", 1, from_thread, 0},
    {"hashes", 2, hashes, 0},
};

ERL_NIF_INIT(native_library, functions, load, NULL, NULL, NULL)
