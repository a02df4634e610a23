/* The library of native_unload.erl: which threads are told that it is unloaded. */
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

#include <erl_nif.h>

/* Since 2.17, so not in each header. */
extern int enif_set_option(ErlNifEnv *env, int option, ...);
enum { ON_UNLOAD_THREAD = 3 };

static atomic_int inside, callers, told, told_callers, wrong;
static _Thread_local int has_called, was_told;
static char report[256];

static void on_unload_thread(void *private)
{
    if (private != report || was_told) {
        atomic_fetch_add(&wrong, 1);
    }
    was_told = 1;
    atomic_fetch_add(&told_callers, has_called);
    atomic_fetch_add(&told, 1);
}

static int load(ErlNifEnv *env, void **private, ERL_NIF_TERM info)
{
    *private = report;
    return enif_get_string(env, info, report, sizeof report, ERL_NIF_LATIN1) <= 0
        || enif_set_option(env, ON_UNLOAD_THREAD, NULL) == 0
        || enif_set_option(env, ON_UNLOAD_THREAD, on_unload_thread) != 0
        || enif_set_option(env, ON_UNLOAD_THREAD, on_unload_thread) == 0;
}

static void unload(ErlNifEnv *env, void *private)
{
    char temporary[300];
    snprintf(temporary, sizeof temporary, "%s.new", report);
    FILE *file = fopen(temporary, "w");
    /* Callers, those that were not told, whether three schedulers and two other threads were, and what was wrong. */
    fprintf(file, "%d %d %d %d\n", callers, callers - told_callers, told >= 5, wrong);
    fclose(file);
    rename(temporary, report);
}

/* Returns when so many threads are in here, or ten seconds have passed. */
static ERL_NIF_TERM meet(ErlNifEnv *env, int argc, const ERL_NIF_TERM argv[])
{
    int wanted;
    if (!enif_get_int(env, argv[0], &wanted)) {
        return enif_make_badarg(env);
    }
    if (!has_called) {
        has_called = 1;
        atomic_fetch_add(&callers, 1);
    }
    atomic_fetch_add(&inside, 1);
    for (int rounds = 0; rounds < 10000 && atomic_load(&inside) < wanted; rounds++) {
        usleep(1000);
    }
    return enif_make_atom(env, atomic_load(&inside) < wanted ? "alone" : "met");
}

static ErlNifFunc functions[] = {{"meet", 1, meet, 0},
                                 {"meet_cpu", 1, meet, ERL_NIF_DIRTY_JOB_CPU_BOUND},
                                 {"meet_io", 1, meet, ERL_NIF_DIRTY_JOB_IO_BOUND}};

ERL_NIF_INIT(native_unloaded, functions, load, NULL, NULL, unload)
