/* Functions of the interface that take a variable number of arguments. Each collects them and calls a function in Rust,
 * or the C library's. */

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef uint64_t term;
typedef struct environment environment;

term enif_make_tuple_from_array(environment *env, const term *elements, unsigned count);
term enif_make_list_from_array(environment *env, const term *elements, unsigned count);
size_t atoll_nif_show(term shown, char *buffer, size_t size);
int atoll_nif_set_option(environment *env, int option, void *value);

/* Elements that need no memory from the heap. */
#define FEW 32

typedef term (*maker)(environment *, const term *, unsigned);

/* Inlined, so that each caller calls its own maker without a pointer. */
static inline __attribute__((always_inline)) term make(maker from_array, environment *env, unsigned count, va_list arguments)
{
    term few[FEW];
    term *elements = count <= FEW ? few : malloc(count * sizeof(term));
    if (elements == NULL) {
        fputs("atoll: no memory left for the arguments of a native library\n", stderr);
        abort();
    }
    elements[0] = 0;
    for (unsigned index = 0; index < count; index++) {
        elements[index] = va_arg(arguments, term);
    }
    term made = from_array(env, elements, count);
    if (elements != few) {
        free(elements);
    }
    return made;
}

term enif_make_tuple(environment *env, unsigned count, ...)
{
    va_list arguments;
    va_start(arguments, count);
    term made = make(enif_make_tuple_from_array, env, count, arguments);
    va_end(arguments);
    return made;
}

term enif_make_list(environment *env, unsigned count, ...)
{
    va_list arguments;
    va_start(arguments, count);
    term made = make(enif_make_list_from_array, env, count, arguments);
    va_end(arguments);
    return made;
}

int enif_set_option(environment *env, int option, ...)
{
    va_list arguments;
    va_start(arguments, option);
    void *value = option == 1 ? NULL : va_arg(arguments, void *);
    va_end(arguments);
    return atoll_nif_set_option(env, option, value);
}

/* Text that is being made: as much as there is room for, and the length that all of it has. */
struct text {
    char *buffer;
    size_t room;
    size_t length;
};

static void add(struct text *text, const char *bytes, size_t count)
{
    if (text->length < text->room) {
        size_t left = text->room - text->length;
        memcpy(text->buffer + text->length, bytes, count < left ? count : left);
    }
    text->length += count;
}

/* The longest conversion that is copied: flags, width and precision. */
#define LONGEST 64

#define PRINT(type)                                                                                                    \
    do {                                                                                                               \
        type value = va_arg(*arguments, type);                                                                         \
        int needed = stars == 0   ? snprintf(small, sizeof small, conversion, value)                                   \
                     : stars == 1 ? snprintf(small, sizeof small, conversion, star[0], value)                          \
                                  : snprintf(small, sizeof small, conversion, star[0], star[1], value);                \
        if (needed < 0) {                                                                                              \
            return -1;                                                                                                 \
        }                                                                                                              \
        if ((size_t)needed < sizeof small) {                                                                           \
            add(text, small, (size_t)needed);                                                                          \
        } else {                                                                                                       \
            char *large = malloc((size_t)needed + 1);                                                                  \
            if (large == NULL) {                                                                                       \
                return -1;                                                                                             \
            }                                                                                                          \
            if (stars == 0) {                                                                                          \
                snprintf(large, (size_t)needed + 1, conversion, value);                                                \
            } else if (stars == 1) {                                                                                   \
                snprintf(large, (size_t)needed + 1, conversion, star[0], value);                                       \
            } else {                                                                                                   \
                snprintf(large, (size_t)needed + 1, conversion, star[0], star[1], value);                              \
            }                                                                                                          \
            add(text, large, (size_t)needed);                                                                          \
            free(large);                                                                                               \
        }                                                                                                              \
    } while (0)

/* Prints what follows a percent sign; where the format goes on, through `at`. */
static int print_one(struct text *text, const char **at, va_list *arguments)
{
    char conversion[LONGEST] = "%", small[512];
    int star[2], stars = 0, size = 0;
    size_t used = 1;
    const char *place = *at;
    for (; *place != 0 && strchr("-+ #0123456789.*hlqjztL", *place) != NULL; place++) {
        if (*place == '*' && stars < 2) {
            star[stars++] = va_arg(*arguments, int);
        }
        if (*place == 'l' || *place == 'q') {
            size += *place == 'q' ? 2 : 1;
        } else if (*place == 'j' || *place == 'z' || *place == 't') {
            size = 2;
        } else if (*place == 'L') {
            size = 3;
        }
        if (used < LONGEST - 3) {
            conversion[used++] = *place;
        }
    }
    char kind = *place;
    if (kind == 0) {
        return -1;
    }
    *at = place + 1;
    conversion[used++] = kind;
    conversion[used] = 0;
    switch (kind) {
    case '%':
        add(text, "%", 1);
        break;
    case 'T': {
        term shown = va_arg(*arguments, term);
        size_t length = atoll_nif_show(shown, small, sizeof small);
        if (length < sizeof small) {
            add(text, small, length);
        } else {
            char *large = malloc(length + 1);
            if (large == NULL) {
                return -1;
            }
            atoll_nif_show(shown, large, length + 1);
            add(text, large, length);
            free(large);
        }
        break;
    }
    case 'd':
    case 'i':
    case 'o':
    case 'u':
    case 'x':
    case 'X':
        if (size == 0) {
            PRINT(int);
        } else if (size == 1) {
            PRINT(long);
        } else {
            PRINT(long long);
        }
        break;
    case 'c':
        PRINT(int);
        break;
    case 'a':
    case 'A':
    case 'e':
    case 'E':
    case 'f':
    case 'F':
    case 'g':
    case 'G':
        if (size == 3) {
            PRINT(long double);
        } else {
            PRINT(double);
        }
        break;
    case 's':
        PRINT(char *);
        break;
    case 'p':
        PRINT(void *);
        break;
    default:
        return -1;
    }
    return 0;
}

static int print(struct text *text, const char *format, va_list *arguments)
{
    while (*format != 0) {
        size_t plain = strcspn(format, "%");
        add(text, format, plain);
        format += plain;
        if (*format == '%') {
            format++;
            if (print_one(text, &format, arguments) < 0) {
                return -1;
            }
        }
    }
    return (int)text->length;
}

int enif_vsnprintf(char *buffer, size_t size, const char *format, va_list arguments)
{
    struct text text = {buffer, size > 0 ? size - 1 : 0, 0};
    va_list copy;
    va_copy(copy, arguments);
    int length = print(&text, format, &copy);
    va_end(copy);
    if (size > 0) {
        buffer[text.length < text.room ? text.length : text.room] = 0;
    }
    return length;
}

int enif_vfprintf(FILE *file, const char *format, va_list arguments)
{
    int length = enif_vsnprintf(NULL, 0, format, arguments);
    if (length < 0) {
        return length;
    }
    char *buffer = malloc((size_t)length + 1);
    if (buffer == NULL) {
        return -1;
    }
    enif_vsnprintf(buffer, (size_t)length + 1, format, arguments);
    size_t written = fwrite(buffer, 1, (size_t)length, file);
    free(buffer);
    return written == (size_t)length ? length : -1;
}

int enif_snprintf(char *buffer, size_t size, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int length = enif_vsnprintf(buffer, size, format, arguments);
    va_end(arguments);
    return length;
}

int enif_fprintf(FILE *file, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int length = enif_vfprintf(file, format, arguments);
    va_end(arguments);
    return length;
}
