/* The libraries of native_loading.erl: one file, of which the program makes copies. The name of a copy says what is
   wrong with it. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <string.h>

#include <erl_nif.h>

static ERL_NIF_TERM answer(ErlNifEnv *env, int argc, const ERL_NIF_TERM argv[])
{
    return enif_make_tuple2(env, enif_make_atom(env, "native"), argc == 0 ? enif_make_int(env, 0) : argv[0]);
}

static int load(ErlNifEnv *env, void **data, ERL_NIF_TERM info)
{
    int status;
    return enif_get_int(env, info, &status) ? status : 0;
}

static int upgrade(ErlNifEnv *env, void **data, void **old, ERL_NIF_TERM info)
{
    return load(env, data, info);
}

static ErlNifFunc functions[] = {
    {"hot", 1, answer, 0},
    {"answer", 0, answer, 0},
    {"answer", 1, answer, 0},
    {"dirty", 1, answer, ERL_NIF_DIRTY_JOB_CPU_BOUND},
    {"answer", 0, answer, 0},
};

static ErlNifEntry entry = {
    ERL_NIF_MAJOR_VERSION, ERL_NIF_MINOR_VERSION, "native_loading", 4, functions, load, NULL, upgrade, NULL,
    ERL_NIF_VM_VARIANT, 0, sizeof(ErlNifResourceTypeInit), "erts-13.0",
};

ERL_NIF_INIT_EXPORT ErlNifEntry *nif_init(void)
{
    Dl_info info = {0};
    dladdr((void *)nif_init, &info);
    const char *slash = info.dli_fname ? strrchr(info.dli_fname, '/') : NULL;
    const char *name = slash ? slash + 1 : "";
#define IS(kind) (strcmp(name, kind ".so") == 0)
    if (IS("nothing"))
        return NULL;
    if (IS("old"))
        entry.major = 1, entry.minor = 0;
    if (IS("new_major"))
        entry.major = 3, entry.minor = 0, entry.min_erts = "erts-97.1";
    if (IS("new_minor"))
        entry.minor = 99, entry.min_erts = "erts-98.2";
    if (IS("variant"))
        entry.vm_variant = "beam.strange";
    if (IS("name"))
        entry.name = "somebody_else";
    if (IS("unknown"))
        functions[1].name = "nowhere";
    if (IS("arity"))
        functions[1].arity = 7;
    if (IS("flags"))
        functions[1].flags = 9;
    if (IS("twice"))
        entry.num_of_funcs = 5;
    if (IS("no_upgrade"))
        entry.upgrade = NULL;
    if (IS("no_load"))
        entry.load = NULL;
    return &entry;
}
