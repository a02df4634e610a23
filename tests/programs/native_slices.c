/* A native function that uses up a part of the time slice: see native_slices.erl. */
#include <erl_nif.h>

static ERL_NIF_TERM consume(ErlNifEnv *env, int count, const ERL_NIF_TERM arguments[])
{
    int percent;
    if (!enif_get_int(env, arguments[0], &percent))
        return enif_make_badarg(env);
    return enif_make_int(env, enif_consume_timeslice(env, percent));
}

static ErlNifFunc functions[] = {{"consume", 1, consume}};

ERL_NIF_INIT(native_slices, functions, NULL, NULL, NULL, NULL)
