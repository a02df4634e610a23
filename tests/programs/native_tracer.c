/* A tracer module: asks its state, a tuple {Map, Pid, Told}, what to do, and sends what it gets to the process.
   Told: whether it tells of questions too. */
#include <erl_nif.h>

static ERL_NIF_TERM send_to(ErlNifEnv* env, ERL_NIF_TERM state, const char* name, int argc, const ERL_NIF_TERM argv[])
{
    const ERL_NIF_TERM* parts;
    int arity, at;
    ERL_NIF_TERM tuple[8];
    ErlNifPid to;

    if (!enif_get_tuple(env, state, &arity, &parts) || arity != 3 || !enif_get_local_pid(env, parts[1], &to))
        return enif_make_atom(env, "error");
    tuple[0] = enif_make_atom(env, name);
    for (at = 0; at < argc; at++)
        tuple[at + 1] = argv[at];
    enif_send(env, &to, NULL, enif_make_tuple_from_array(env, tuple, argc + 1));
    return enif_make_atom(env, "ok");
}

static ERL_NIF_TERM answer(ErlNifEnv* env, const char* name, const ERL_NIF_TERM argv[])
{
    const ERL_NIF_TERM* parts;
    int arity;
    ERL_NIF_TERM verdict;

    if (!enif_get_tuple(env, argv[1], &arity, &parts) || arity != 3)
        return enif_make_atom(env, "discard");
    if (enif_is_identical(parts[2], enif_make_atom(env, "true"))) {
        ERL_NIF_TERM shown[2] = { argv[0], argv[2] };
        send_to(env, argv[1], name, 2, shown);
    }
    return enif_get_map_value(env, parts[0], argv[0], &verdict) ? verdict : enif_make_atom(env, "discard");
}

static ERL_NIF_TERM enabled(ErlNifEnv* env, int argc, const ERL_NIF_TERM argv[])
{
    return answer(env, "enabled", argv);
}

static ERL_NIF_TERM enabled_procs(ErlNifEnv* env, int argc, const ERL_NIF_TERM argv[])
{
    return answer(env, "enabled_procs", argv);
}

static ERL_NIF_TERM trace(ErlNifEnv* env, int argc, const ERL_NIF_TERM argv[])
{
    return send_to(env, argv[1], "trace", argc, argv);
}

static ERL_NIF_TERM trace_procs(ErlNifEnv* env, int argc, const ERL_NIF_TERM argv[])
{
    return send_to(env, argv[1], "trace_procs", argc, argv);
}

static ErlNifFunc functions[] = {
    {"enabled", 3, enabled}, {"trace", 5, trace}, {"enabled_procs", 3, enabled_procs}, {"trace_procs", 5, trace_procs}};

ERL_NIF_INIT(native_tracer, functions, NULL, NULL, NULL, NULL)
