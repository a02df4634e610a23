/* A library that needs what nobody has, for native_loading.erl. */
extern int atoll_has_no_such_function(void);

int nif_init(void)
{
    return atoll_has_no_such_function();
}
