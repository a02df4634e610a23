/* A library without `nif_init`, for native_loading.erl. */
int nothing(void)
{
    return 0;
}
