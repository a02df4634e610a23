/* The library of native_halt.erl: functions that return a while after the library was told of the machine's end. */
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include <erl_nif.h>

/* Since 2.17, so not in each header. */
extern int enif_set_option(ErlNifEnv *env, int option, ...);
enum { DELAY_HALT = 1, ON_HALT = 2, NO_OPTION = 4 };

static atomic_int busy, told;

static void say(const char *text)
{
    if (write(1, text, strlen(text)) < 0) {
        _exit(9);
    }
}

static void on_halt(void *private)
{
    say(private == &told ? "told\n" : "told something else\n");
    atomic_store(&told, 1);
}

static int load(ErlNifEnv *env, void **private, ERL_NIF_TERM info)
{
    *private = &told;
    return enif_set_option(env, DELAY_HALT) != 0 || enif_set_option(env, ON_HALT, on_halt) != 0
        || enif_set_option(env, DELAY_HALT) == 0 || enif_set_option(env, ON_HALT, on_halt) == 0
        || enif_set_option(env, NO_OPTION, on_halt) == 0;
}

static ERL_NIF_TERM late(ErlNifEnv *env, int argc, const ERL_NIF_TERM argv[])
{
    return enif_make_atom(env, enif_set_option(env, DELAY_HALT) != 0 ? "refused" : "accepted");
}

static ERL_NIF_TERM are_busy(ErlNifEnv *env, int argc, const ERL_NIF_TERM argv[])
{
    int wanted;
    if (!enif_get_int(env, argv[0], &wanted)) {
        return enif_make_badarg(env);
    }
    return enif_make_atom(env, atomic_load(&busy) == wanted ? "true" : "false");
}

/* Waits for the end, at most a minute, and then long enough for an end that does not wait to come first. */
static ERL_NIF_TERM rest(ErlNifEnv *env, int argc, const ERL_NIF_TERM argv[])
{
    atomic_fetch_add(&busy, 1);
    for (int rounds = 0; rounds < 60000 && !atomic_load(&told); rounds++) {
        usleep(1000);
    }
    usleep(100000);
    say(atomic_load(&told) ? "returned\n" : "not told\n");
    return enif_make_atom(env, "ok");
}

static ERL_NIF_TERM again(ErlNifEnv *env, int argc, const ERL_NIF_TERM argv[])
{
    return enif_schedule_nif(env, "rest", 0, rest, argc, argv);
}

static ErlNifFunc functions[] = {{"at_once", 0, rest, 0},
                                 {"dirty", 0, rest, ERL_NIF_DIRTY_JOB_IO_BOUND},
                                 {"again", 0, again, 0},
                                 {"are_busy", 1, are_busy, 0},
                                 {"late", 0, late, 0}};

ERL_NIF_INIT(native_halt, functions, load, NULL, NULL, NULL)
