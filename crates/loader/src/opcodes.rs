//! Every opcode with its name and number of operands, in one table.
//!
//! Numbers, names and arities are those of OTP's instruction set up to release 29. An opcode that
//! no supported release loads any more is marked as refused.

/// One opcode.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Opcode {
    /// Its number in the file.
    pub(crate) number: u8,
    /// Its name.
    pub(crate) name: &'static str,
    /// Number of operands; a list counts as one.
    pub(crate) arity: u8,
    /// Obsolete before OTP 25, so that no file that OTP 25 loads contains it.
    pub(crate) refused: bool,
}

/// Defines a constant for every number, and the table, from one list.
macro_rules! opcodes {
    ($($constant:ident = $number:literal, $name:literal / $arity:literal, $state:ident;)*) => {
        // The names of refused opcodes are for error messages only.
        $(#[allow(dead_code)] pub(crate) const $constant: u8 = $number;)*

        const TABLE: &[Opcode] = &[
            $(Opcode { number: $number, name: $name, arity: $arity, refused: opcodes!(@$state) },)*
        ];
    };
    (@used) => { false };
    (@refused) => { true };
}

opcodes! {
    LABEL = 1, "label" / 1, used;
    FUNC_INFO = 2, "func_info" / 3, used;
    INT_CODE_END = 3, "int_code_end" / 0, used;
    CALL = 4, "call" / 2, used;
    CALL_LAST = 5, "call_last" / 3, used;
    CALL_ONLY = 6, "call_only" / 2, used;
    CALL_EXT = 7, "call_ext" / 2, used;
    CALL_EXT_LAST = 8, "call_ext_last" / 3, used;
    BIF0 = 9, "bif0" / 2, used;
    BIF1 = 10, "bif1" / 4, used;
    BIF2 = 11, "bif2" / 5, used;
    ALLOCATE = 12, "allocate" / 2, used;
    ALLOCATE_HEAP = 13, "allocate_heap" / 3, used;
    ALLOCATE_ZERO = 14, "allocate_zero" / 2, used;
    ALLOCATE_HEAP_ZERO = 15, "allocate_heap_zero" / 3, used;
    TEST_HEAP = 16, "test_heap" / 2, used;
    INIT = 17, "init" / 1, used;
    DEALLOCATE = 18, "deallocate" / 1, used;
    RETURN = 19, "return" / 0, used;
    SEND = 20, "send" / 0, used;
    REMOVE_MESSAGE = 21, "remove_message" / 0, used;
    TIMEOUT = 22, "timeout" / 0, used;
    LOOP_REC = 23, "loop_rec" / 2, used;
    LOOP_REC_END = 24, "loop_rec_end" / 1, used;
    WAIT = 25, "wait" / 1, used;
    WAIT_TIMEOUT = 26, "wait_timeout" / 2, used;
    M_PLUS = 27, "m_plus" / 4, refused;
    M_MINUS = 28, "m_minus" / 4, refused;
    M_TIMES = 29, "m_times" / 4, refused;
    M_DIV = 30, "m_div" / 4, refused;
    INT_DIV = 31, "int_div" / 4, refused;
    INT_REM = 32, "int_rem" / 4, refused;
    INT_BAND = 33, "int_band" / 4, refused;
    INT_BOR = 34, "int_bor" / 4, refused;
    INT_BXOR = 35, "int_bxor" / 4, refused;
    INT_BSL = 36, "int_bsl" / 4, refused;
    INT_BSR = 37, "int_bsr" / 4, refused;
    INT_BNOT = 38, "int_bnot" / 3, refused;
    IS_LT = 39, "is_lt" / 3, used;
    IS_GE = 40, "is_ge" / 3, used;
    IS_EQ = 41, "is_eq" / 3, used;
    IS_NE = 42, "is_ne" / 3, used;
    IS_EQ_EXACT = 43, "is_eq_exact" / 3, used;
    IS_NE_EXACT = 44, "is_ne_exact" / 3, used;
    IS_INTEGER = 45, "is_integer" / 2, used;
    IS_FLOAT = 46, "is_float" / 2, used;
    IS_NUMBER = 47, "is_number" / 2, used;
    IS_ATOM = 48, "is_atom" / 2, used;
    IS_PID = 49, "is_pid" / 2, used;
    IS_REFERENCE = 50, "is_reference" / 2, used;
    IS_PORT = 51, "is_port" / 2, used;
    IS_NIL = 52, "is_nil" / 2, used;
    IS_BINARY = 53, "is_binary" / 2, used;
    IS_CONSTANT = 54, "is_constant" / 2, refused;
    IS_LIST = 55, "is_list" / 2, used;
    IS_NONEMPTY_LIST = 56, "is_nonempty_list" / 2, used;
    IS_TUPLE = 57, "is_tuple" / 2, used;
    TEST_ARITY = 58, "test_arity" / 3, used;
    SELECT_VAL = 59, "select_val" / 3, used;
    SELECT_TUPLE_ARITY = 60, "select_tuple_arity" / 3, used;
    JUMP = 61, "jump" / 1, used;
    CATCH = 62, "catch" / 2, used;
    CATCH_END = 63, "catch_end" / 1, used;
    MOVE = 64, "move" / 2, used;
    GET_LIST = 65, "get_list" / 3, used;
    GET_TUPLE_ELEMENT = 66, "get_tuple_element" / 3, used;
    SET_TUPLE_ELEMENT = 67, "set_tuple_element" / 3, used;
    PUT_STRING = 68, "put_string" / 3, refused;
    PUT_LIST = 69, "put_list" / 3, used;
    PUT_TUPLE = 70, "put_tuple" / 2, refused;
    PUT = 71, "put" / 1, refused;
    BADMATCH = 72, "badmatch" / 1, used;
    IF_END = 73, "if_end" / 0, used;
    CASE_END = 74, "case_end" / 1, used;
    CALL_FUN = 75, "call_fun" / 1, used;
    MAKE_FUN = 76, "make_fun" / 3, refused;
    IS_FUNCTION = 77, "is_function" / 2, used;
    CALL_EXT_ONLY = 78, "call_ext_only" / 2, used;
    BS_START_MATCH = 79, "bs_start_match" / 2, refused;
    BS_GET_INTEGER = 80, "bs_get_integer" / 5, refused;
    BS_GET_FLOAT = 81, "bs_get_float" / 5, refused;
    BS_GET_BINARY = 82, "bs_get_binary" / 5, refused;
    BS_SKIP_BITS = 83, "bs_skip_bits" / 4, refused;
    BS_TEST_TAIL = 84, "bs_test_tail" / 2, refused;
    BS_SAVE = 85, "bs_save" / 1, refused;
    BS_RESTORE = 86, "bs_restore" / 1, refused;
    BS_INIT = 87, "bs_init" / 2, refused;
    BS_FINAL = 88, "bs_final" / 2, refused;
    BS_PUT_INTEGER = 89, "bs_put_integer" / 5, used;
    BS_PUT_BINARY = 90, "bs_put_binary" / 5, used;
    BS_PUT_FLOAT = 91, "bs_put_float" / 5, used;
    BS_PUT_STRING = 92, "bs_put_string" / 2, used;
    BS_NEED_BUF = 93, "bs_need_buf" / 1, refused;
    FCLEARERROR = 94, "fclearerror" / 0, used;
    FCHECKERROR = 95, "fcheckerror" / 1, used;
    FMOVE = 96, "fmove" / 2, used;
    FCONV = 97, "fconv" / 2, used;
    FADD = 98, "fadd" / 4, used;
    FSUB = 99, "fsub" / 4, used;
    FMUL = 100, "fmul" / 4, used;
    FDIV = 101, "fdiv" / 4, used;
    FNEGATE = 102, "fnegate" / 3, used;
    MAKE_FUN2 = 103, "make_fun2" / 1, used;
    TRY = 104, "try" / 2, used;
    TRY_END = 105, "try_end" / 1, used;
    TRY_CASE = 106, "try_case" / 1, used;
    TRY_CASE_END = 107, "try_case_end" / 1, used;
    RAISE = 108, "raise" / 2, used;
    BS_INIT2 = 109, "bs_init2" / 6, used;
    BS_BITS_TO_BYTES = 110, "bs_bits_to_bytes" / 3, refused;
    BS_ADD = 111, "bs_add" / 5, used;
    APPLY = 112, "apply" / 1, used;
    APPLY_LAST = 113, "apply_last" / 2, used;
    IS_BOOLEAN = 114, "is_boolean" / 2, used;
    IS_FUNCTION2 = 115, "is_function2" / 3, used;
    BS_START_MATCH2 = 116, "bs_start_match2" / 5, refused;
    BS_GET_INTEGER2 = 117, "bs_get_integer2" / 7, used;
    BS_GET_FLOAT2 = 118, "bs_get_float2" / 7, used;
    BS_GET_BINARY2 = 119, "bs_get_binary2" / 7, used;
    BS_SKIP_BITS2 = 120, "bs_skip_bits2" / 5, used;
    BS_TEST_TAIL2 = 121, "bs_test_tail2" / 3, used;
    BS_SAVE2 = 122, "bs_save2" / 2, refused;
    BS_RESTORE2 = 123, "bs_restore2" / 2, refused;
    GC_BIF1 = 124, "gc_bif1" / 5, used;
    GC_BIF2 = 125, "gc_bif2" / 6, used;
    BS_FINAL2 = 126, "bs_final2" / 2, refused;
    BS_BITS_TO_BYTES2 = 127, "bs_bits_to_bytes2" / 2, refused;
    PUT_LITERAL = 128, "put_literal" / 2, refused;
    IS_BITSTR = 129, "is_bitstr" / 2, used;
    BS_CONTEXT_TO_BINARY = 130, "bs_context_to_binary" / 1, refused;
    BS_TEST_UNIT = 131, "bs_test_unit" / 3, used;
    BS_MATCH_STRING = 132, "bs_match_string" / 4, used;
    BS_INIT_WRITABLE = 133, "bs_init_writable" / 0, used;
    BS_APPEND = 134, "bs_append" / 8, used;
    BS_PRIVATE_APPEND = 135, "bs_private_append" / 6, used;
    TRIM = 136, "trim" / 2, used;
    BS_INIT_BITS = 137, "bs_init_bits" / 6, used;
    BS_GET_UTF8 = 138, "bs_get_utf8" / 5, used;
    BS_SKIP_UTF8 = 139, "bs_skip_utf8" / 4, used;
    BS_GET_UTF16 = 140, "bs_get_utf16" / 5, used;
    BS_SKIP_UTF16 = 141, "bs_skip_utf16" / 4, used;
    BS_GET_UTF32 = 142, "bs_get_utf32" / 5, used;
    BS_SKIP_UTF32 = 143, "bs_skip_utf32" / 4, used;
    BS_UTF8_SIZE = 144, "bs_utf8_size" / 3, used;
    BS_PUT_UTF8 = 145, "bs_put_utf8" / 3, used;
    BS_UTF16_SIZE = 146, "bs_utf16_size" / 3, used;
    BS_PUT_UTF16 = 147, "bs_put_utf16" / 3, used;
    BS_PUT_UTF32 = 148, "bs_put_utf32" / 3, used;
    ON_LOAD = 149, "on_load" / 0, used;
    RECV_MARK = 150, "recv_mark" / 1, used;
    RECV_SET = 151, "recv_set" / 1, used;
    GC_BIF3 = 152, "gc_bif3" / 7, used;
    LINE = 153, "line" / 1, used;
    PUT_MAP_ASSOC = 154, "put_map_assoc" / 5, used;
    PUT_MAP_EXACT = 155, "put_map_exact" / 5, used;
    IS_MAP = 156, "is_map" / 2, used;
    HAS_MAP_FIELDS = 157, "has_map_fields" / 3, used;
    GET_MAP_ELEMENTS = 158, "get_map_elements" / 3, used;
    IS_TAGGED_TUPLE = 159, "is_tagged_tuple" / 4, used;
    BUILD_STACKTRACE = 160, "build_stacktrace" / 0, used;
    RAW_RAISE = 161, "raw_raise" / 0, used;
    GET_HD = 162, "get_hd" / 2, used;
    GET_TL = 163, "get_tl" / 2, used;
    PUT_TUPLE2 = 164, "put_tuple2" / 2, used;
    BS_GET_TAIL = 165, "bs_get_tail" / 3, used;
    BS_START_MATCH3 = 166, "bs_start_match3" / 4, used;
    BS_GET_POSITION = 167, "bs_get_position" / 3, used;
    BS_SET_POSITION = 168, "bs_set_position" / 2, used;
    SWAP = 169, "swap" / 2, used;
    BS_START_MATCH4 = 170, "bs_start_match4" / 4, used;
    MAKE_FUN3 = 171, "make_fun3" / 3, used;
    INIT_YREGS = 172, "init_yregs" / 1, used;
    RECV_MARKER_BIND = 173, "recv_marker_bind" / 2, used;
    RECV_MARKER_CLEAR = 174, "recv_marker_clear" / 1, used;
    RECV_MARKER_RESERVE = 175, "recv_marker_reserve" / 1, used;
    RECV_MARKER_USE = 176, "recv_marker_use" / 1, used;
    BS_CREATE_BIN = 177, "bs_create_bin" / 6, used;
    CALL_FUN2 = 178, "call_fun2" / 3, used;
    NIF_START = 179, "nif_start" / 0, used;
    BADRECORD = 180, "badrecord" / 1, used;
    UPDATE_RECORD = 181, "update_record" / 5, used;
    BS_MATCH = 182, "bs_match" / 3, used;
    EXECUTABLE_LINE = 183, "executable_line" / 2, used;
    DEBUG_LINE = 184, "debug_line" / 4, used;
    BIF3 = 185, "bif3" / 6, used;
    IS_ANY_NATIVE_RECORD = 186, "is_any_native_record" / 2, used;
    IS_NATIVE_RECORD = 187, "is_native_record" / 4, used;
    GET_RECORD_ELEMENTS = 188, "get_record_elements" / 3, used;
    PUT_RECORD = 189, "put_record" / 6, used;
    IS_RECORD_ACCESSIBLE = 190, "is_record_accessible" / 3, used;
    GET_RECORD_FIELD = 191, "get_record_field" / 5, used;
}

// The table is indexed by number.
const _: () = {
    let mut index = 0;
    while index < TABLE.len() {
        assert!(TABLE[index].number as usize == index + 1);
        index += 1;
    }
};

/// The highest opcode that is known.
pub(crate) const HIGHEST: u8 = TABLE.len() as u8;

/// The opcode with this number.
pub(crate) fn opcode(number: u8) -> Option<&'static Opcode> {
    TABLE.get(usize::from(number).checked_sub(1)?)
}
