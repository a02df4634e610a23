/* The library of natives.erl: functions that do next to nothing. */
#include <erl_nif.h>

static ERL_NIF_TERM nothing(ErlNifEnv *env, int argc, const ERL_NIF_TERM argv[])
{
    return argv[0];
}

static ErlNifFunc functions[] = {
    {"empty", 1, nothing, 0},
    {"empty_dirty", 1, nothing, ERL_NIF_DIRTY_JOB_CPU_BOUND},
};

ERL_NIF_INIT(natives, functions, NULL, NULL, NULL, NULL)
