/* The library of native_lent.erl. */
#include <string.h>

#include <erl_nif.h>

typedef struct {
    ErlNifPid owner;
    size_t size;
    unsigned char bytes[];
} block;

static ErlNifResourceType *kind;

static void destroy(ErlNifEnv *env, void *object)
{
    block *gone = object;
    memset(gone->bytes, 'x', gone->size);
    enif_send(env, &gone->owner, NULL, enif_make_atom(env, "destroyed"));
}

static int load(ErlNifEnv *env, void **private, ERL_NIF_TERM info)
{
    kind = enif_open_resource_type(env, NULL, "block", destroy, ERL_NIF_RT_CREATE, NULL);
    return kind == NULL;
}

/* A binary of a resource that nothing else refers to: as many bytes, from the place. */
static ERL_NIF_TERM lend(ErlNifEnv *env, int argc, const ERL_NIF_TERM argv[])
{
    unsigned long size, from, i;
    block *made;
    ERL_NIF_TERM term;
    if (!enif_get_ulong(env, argv[0], &size) || !enif_get_ulong(env, argv[1], &from))
        return enif_make_badarg(env);
    made = enif_alloc_resource(kind, sizeof *made + from + size);
    enif_self(env, &made->owner);
    made->size = from + size;
    for (i = 0; i < made->size; i++)
        made->bytes[i] = (unsigned char)(i * 7);
    term = enif_make_resource_binary(env, made, made->bytes + from, size);
    enif_release_resource(made);
    return term;
}

/* Whether the bytes of a binary are those of its resource, at this place. */
static ERL_NIF_TERM is_there(ErlNifEnv *env, int argc, const ERL_NIF_TERM argv[])
{
    ErlNifBinary found;
    unsigned long from;
    void *object;
    if (!enif_get_resource(env, argv[0], kind, &object) || !enif_inspect_binary(env, argv[1], &found) ||
        !enif_get_ulong(env, argv[2], &from))
        return enif_make_badarg(env);
    return enif_make_atom(env, found.data == ((block *)object)->bytes + from ? "true" : "false");
}

static ErlNifFunc functions[] = {{"lend", 2, lend, 0},
                                 {"is_there", 3, is_there, 0},
                                 {"is_there_apart", 3, is_there, ERL_NIF_DIRTY_JOB_CPU_BOUND}};

ERL_NIF_INIT(native_lent, functions, load, NULL, NULL, NULL)
