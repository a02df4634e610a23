/* The library of native_killed.erl: a dirty call, and resources that say whether it goes on. */
#include <stdatomic.h>
#include <unistd.h>

#include <erl_nif.h>

static ErlNifResourceType *kind;
static atomic_int goes_on;

static void destroy(ErlNifEnv *env, void *object)
{
    enif_send(env, object, NULL, enif_make_atom(env, atomic_load(&goes_on) ? "destroyed_meanwhile" : "destroyed"));
}

static int load(ErlNifEnv *env, void **private, ERL_NIF_TERM info)
{
    kind = enif_open_resource_type(env, NULL, "thing", destroy, ERL_NIF_RT_CREATE, NULL);
    return kind == NULL;
}

static ERL_NIF_TERM make(ErlNifEnv *env, int argc, const ERL_NIF_TERM argv[])
{
    ErlNifPid *owner = enif_alloc_resource(kind, sizeof *owner);
    ERL_NIF_TERM term = enif_make_resource(env, owner);
    if (!enif_get_local_pid(env, argv[0], owner)) {
        term = enif_make_badarg(env);
    }
    enif_release_resource(owner);
    return term;
}

static ERL_NIF_TERM rest(ErlNifEnv *env, int argc, const ERL_NIF_TERM argv[])
{
    atomic_store(&goes_on, 1);
    usleep(300000);
    atomic_store(&goes_on, 0);
    return argv[0];
}

static ERL_NIF_TERM is_resting(ErlNifEnv *env, int argc, const ERL_NIF_TERM argv[])
{
    return enif_make_atom(env, atomic_load(&goes_on) ? "true" : "false");
}

static ErlNifFunc functions[] = {
    {"make", 1, make, 0}, {"rest", 1, rest, ERL_NIF_DIRTY_JOB_IO_BOUND}, {"is_resting", 0, is_resting, 0}};

ERL_NIF_INIT(native_killed, functions, load, NULL, NULL, NULL)
