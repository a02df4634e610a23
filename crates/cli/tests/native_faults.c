/* The library of native_faults.rs: what libraries should not do. */
#include <stdlib.h>
#include <string.h>

#include <erl_nif.h>

static ERL_NIF_TERM strayed;

static int load(ErlNifEnv *env, void **data, ERL_NIF_TERM info)
{
    ErlNifEnv *other = enif_alloc_env();
    strayed = enif_make_tuple1(other, enif_make_atom(other, "elsewhere"));
    return 0;
}

static ERL_NIF_TERM faulty(ErlNifEnv *env, const ERL_NIF_TERM *argv)
{
    char kind[20] = "";
    ErlNifPid self;
    ERL_NIF_TERM made;
    enif_get_atom(env, argv[0], kind, sizeof kind, ERL_NIF_LATIN1);
    if (strcmp(kind, "number") == 0)
        return 0x123456;
    if (strcmp(kind, "address") == 0)
        return (ERL_NIF_TERM)0x7000000002;
    if (strcmp(kind, "odd") == 0)
        return argv[1] + 4;
    if (strcmp(kind, "strayed") == 0)
        return strayed;
    if (strcmp(kind, "inside") == 0)
        return enif_make_list2(env, argv[1], 0x7000000001);
    if (strcmp(kind, "map") == 0)
        return enif_make_map_put(env, enif_make_new_map(env), argv[0], 0x7000000001, &made) ? made : argv[0];
    if (strcmp(kind, "sent") == 0)
        return enif_make_int(env, enif_send(env, enif_self(env, &self), NULL, 0x7000000002));
    if (strcmp(kind, "raised") == 0)
        return enif_raise_exception(env, 0x7000000002);
    if (strcmp(kind, "fault") == 0)
        *(volatile int *)8 = 1;
    if (strcmp(kind, "abort") == 0)
        abort();
    return enif_make_tuple2(env, argv[0], argv[1]);
}

static ERL_NIF_TERM normal(ErlNifEnv *env, int argc, const ERL_NIF_TERM argv[])
{
    return faulty(env, argv);
}

static ERL_NIF_TERM dirty(ErlNifEnv *env, int argc, const ERL_NIF_TERM argv[])
{
    return faulty(env, argv);
}

static ErlNifFunc functions[] = {
    {"normal", 2, normal, 0},
    {"dirty", 2, dirty, ERL_NIF_DIRTY_JOB_IO_BOUND},
};

ERL_NIF_INIT(native_faults, functions, load, NULL, NULL, NULL)
