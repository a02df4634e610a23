/* The library of native_long.erl: functions that take their time. */
#include <unistd.h>

#include <erl_nif.h>

static ERL_NIF_TERM rest(ErlNifEnv *env, int argc, const ERL_NIF_TERM argv[])
{
    int milliseconds;
    if (!enif_get_int(env, argv[0], &milliseconds))
        return enif_make_badarg(env);
    usleep(milliseconds * 1000);
    return argv[0];
}

static ErlNifFunc functions[] = {
    {"rest", 1, rest, 0},
    {"rest_apart", 1, rest, ERL_NIF_DIRTY_JOB_IO_BOUND},
    {"work_apart", 1, rest, ERL_NIF_DIRTY_JOB_CPU_BOUND},
};

ERL_NIF_INIT(native_long, functions, NULL, NULL, NULL, NULL)
