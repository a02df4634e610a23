/* Functions of drivers that are other names for functions of native libraries, or of the C library. */

#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#define NAMES(kind, type)                                                                                              \
    type *enif_##kind##_create(char *name);                                                                            \
    void enif_##kind##_destroy(type *);                                                                                \
    char *enif_##kind##_name(type *);                                                                                  \
    type *erl_drv_##kind##_create(char *name) { return enif_##kind##_create(name); }                                   \
    void erl_drv_##kind##_destroy(type *lock) { enif_##kind##_destroy(lock); }                                         \
    char *erl_drv_##kind##_name(type *lock) { return enif_##kind##_name(lock); }

#define VOID(name, type)                                                                                               \
    void enif_##name(type *);                                                                                          \
    void erl_drv_##name(type *lock) { enif_##name(lock); }

#define TRY(name, type)                                                                                                \
    int enif_##name(type *);                                                                                           \
    int erl_drv_##name(type *lock) { return enif_##name(lock); }

typedef struct mutex mutex;
typedef struct condition condition;
typedef struct rwlock rwlock;

NAMES(mutex, mutex)
NAMES(cond, condition)
NAMES(rwlock, rwlock)
VOID(mutex_lock, mutex)
VOID(mutex_unlock, mutex)
TRY(mutex_trylock, mutex)
VOID(cond_signal, condition)
VOID(cond_broadcast, condition)
VOID(rwlock_rlock, rwlock)
VOID(rwlock_runlock, rwlock)
VOID(rwlock_rwlock, rwlock)
VOID(rwlock_rwunlock, rwlock)
TRY(rwlock_tryrlock, rwlock)
TRY(rwlock_tryrwlock, rwlock)

void enif_cond_wait(condition *, mutex *);
void erl_drv_cond_wait(condition *one, mutex *lock) { enif_cond_wait(one, lock); }

int enif_tsd_key_create(char *name, int *key);
void enif_tsd_key_destroy(int key);
void enif_tsd_set(int key, void *data);
void *enif_tsd_get(int key);
int erl_drv_tsd_key_create(char *name, int *key) { return enif_tsd_key_create(name, key); }
void erl_drv_tsd_key_destroy(int key) { enif_tsd_key_destroy(key); }
void erl_drv_tsd_set(int key, void *data) { enif_tsd_set(key, data); }
void *erl_drv_tsd_get(int key) { return enif_tsd_get(key); }

typedef struct thread *thread;
typedef struct options options;
options *enif_thread_opts_create(char *name);
void enif_thread_opts_destroy(options *);
int enif_thread_create(char *name, thread *, void *(*)(void *), void *, options *);
thread enif_thread_self(void);
int enif_equal_tids(thread, thread);
void enif_thread_exit(void *);
int enif_thread_join(thread, void **);
char *enif_thread_name(thread);
options *erl_drv_thread_opts_create(char *name) { return enif_thread_opts_create(name); }
void erl_drv_thread_opts_destroy(options *given) { enif_thread_opts_destroy(given); }
int erl_drv_thread_create(char *name, thread *made, void *(*work)(void *), void *data, options *given)
{
    return enif_thread_create(name, made, work, data, given);
}
thread erl_drv_thread_self(void) { return enif_thread_self(); }
int erl_drv_equal_tids(thread one, thread other) { return enif_equal_tids(one, other); }
void erl_drv_thread_exit(void *result) { enif_thread_exit(result); }
int erl_drv_thread_join(thread one, void **result) { return enif_thread_join(one, result); }
char *erl_drv_thread_name(thread one) { return enif_thread_name(one); }

int64_t enif_monotonic_time(int unit);
int64_t enif_time_offset(int unit);
int64_t enif_convert_time_unit(int64_t time, int from, int to);
int64_t erl_drv_monotonic_time(int unit) { return enif_monotonic_time(unit); }
int64_t erl_drv_time_offset(int unit) { return enif_time_offset(unit); }
int64_t erl_drv_convert_time_unit(int64_t time, int from, int to) { return enif_convert_time_unit(time, from, to); }

void enif_system_info(void *place, size_t size);
void driver_system_info(void *place, size_t size) { enif_system_info(place, size); }

void *driver_alloc(size_t size) { return malloc(size); }
void *driver_realloc(void *place, size_t size) { return realloc(place, size); }
void driver_free(void *place) { free(place); }

void *driver_dl_open(char *path) { return dlopen(path, RTLD_NOW); }
void *driver_dl_sym(void *library, char *name) { return dlsym(library, name); }
int driver_dl_close(void *library) { return dlclose(library); }
char *driver_dl_error(void) { return dlerror(); }

int null_func(void) { return 0; }

/* A lock for a port's data, and the count of who has it. */
struct data_lock {
    pthread_mutex_t lock;
    long owners;
};

struct data_lock *driver_pdl_create(void *port)
{
    (void)port;
    struct data_lock *made = malloc(sizeof *made);
    if (made != NULL) {
        pthread_mutex_init(&made->lock, NULL);
        made->owners = 1;
    }
    return made;
}

void driver_pdl_lock(struct data_lock *lock) { pthread_mutex_lock(&lock->lock); }
void driver_pdl_unlock(struct data_lock *lock) { pthread_mutex_unlock(&lock->lock); }
long driver_pdl_get_refc(struct data_lock *lock) { return __atomic_load_n(&lock->owners, __ATOMIC_ACQUIRE); }
long driver_pdl_inc_refc(struct data_lock *lock) { return __atomic_add_fetch(&lock->owners, 1, __ATOMIC_ACQ_REL); }

long driver_pdl_dec_refc(struct data_lock *lock)
{
    long left = __atomic_sub_fetch(&lock->owners, 1, __ATOMIC_ACQ_REL);
    if (left == 0) {
        pthread_mutex_destroy(&lock->lock);
        free(lock);
    }
    return left;
}
