/* The library of native_destroyed.erl. */

#include <erl_nif.h>

static ErlNifResourceType *kind;

static void destroy(ErlNifEnv *env, void *object)
{
    enif_send(env, object, NULL, enif_make_atom(env, "destroyed"));
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

static ErlNifFunc functions[] = {{"make", 1, make, 0}};

ERL_NIF_INIT(native_destroyed, functions, load, NULL, NULL, NULL)
