/* The library of native_traced.erl. */
#include <unistd.h>

#include <erl_nif.h>

static ERL_NIF_TERM tell(ErlNifEnv *env, int argc, const ERL_NIF_TERM argv[])
{
    ErlNifPid to;
    if (!enif_get_local_pid(env, argv[0], &to))
        return enif_make_badarg(env);
    enif_send(env, &to, NULL, enif_make_tuple2(env, argv[1], enif_make_string(env, "text", ERL_NIF_LATIN1)));
    usleep(20000);
    return argv[1];
}

static ErlNifFunc functions[] = {{"tell", 2, tell, 0}, {"tell_apart", 2, tell, ERL_NIF_DIRTY_JOB_IO_BOUND}};

ERL_NIF_INIT(native_traced, functions, NULL, NULL, NULL, NULL)
