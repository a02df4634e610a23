/* The library of native_left.erl: resources that count how many of them have been destroyed. */
#include <stdatomic.h>

#include <erl_nif.h>

static ErlNifResourceType *kind;
static atomic_int gone;

static void destroy(ErlNifEnv *env, void *object)
{
    atomic_fetch_add(&gone, 1);
}

static int load(ErlNifEnv *env, void **private, ERL_NIF_TERM info)
{
    kind = enif_open_resource_type(env, NULL, "counted", destroy, ERL_NIF_RT_CREATE, NULL);
    return kind == NULL;
}

static ERL_NIF_TERM make(ErlNifEnv *env, int argc, const ERL_NIF_TERM argv[])
{
    void *object = enif_alloc_resource(kind, 8);
    ERL_NIF_TERM term = enif_make_resource(env, object);
    enif_release_resource(object);
    return term;
}

static ERL_NIF_TERM destroyed(ErlNifEnv *env, int argc, const ERL_NIF_TERM argv[])
{
    return enif_make_int(env, atomic_load(&gone));
}

static ErlNifFunc functions[] = {{"make", 0, make, 0}, {"destroyed", 0, destroyed, 0}};

ERL_NIF_INIT(native_left, functions, load, NULL, NULL, NULL)
