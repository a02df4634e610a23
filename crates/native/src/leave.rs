//! The ways from native code to handlers of the first engine. Native code jumps here with a code address and, where the
//! core does not have them yet, X registers; all that leaving takes is written once, not in each region.

pub use ways::{
    built_in_last, call_built_in, leave, leave_counted, leave_counted_operands, leave_with_one, leave_with_two, pause,
};

#[cfg(all(target_arch = "x86_64", not(target_os = "windows")))]
mod ways {
    use std::mem::offset_of;

    use atoll_runtime::built_in;
    use atoll_runtime::core::Core;
    use atoll_runtime::mark::enter_return;
    use atoll_runtime::pause::yield_entering;
    use atoll_term::Word;

    use crate::engine::left_often;
    use crate::exits::OFTEN;

    const WORD: usize = size_of::<Word>();

    // Native code passes the code address in RDI; heap top, stack pointer and reductions where handlers have them; the
    // core in R15; and what else a way takes in R8 and R9.

    /// Goes on with the handler in RAX.
    #[unsafe(naked)]
    unsafe extern "C" fn leave_to() {
        std::arch::naked_asm!(
            "mov r8, r15",
            "mov r15, [r8 + {kept}]",
            "mov rbx, [r8 + {kept} + 8]",
            "mov r12, [r8 + {kept} + 16]",
            "mov r13, [r8 + {kept} + 24]",
            "mov r14, [r8 + {kept} + 32]",
            "jmp rax",
            kept = const offset_of!(Core, kept),
        )
    }

    /// All X registers that matter are in the core. A function of a native library is called from here.
    #[unsafe(naked)]
    pub unsafe extern "C" fn leave() {
        std::arch::naked_asm!(
            "mov rax, [rdi]",
            "lea r10, [rip + {body}]",
            "cmp rax, r10",
            "jne {to}",
            "jmp {library}",
            body = sym built_in::native_body,
            library = sym call_library,
            to = sym leave_to,
        )
    }

    /// With X0 in R8.
    #[unsafe(naked)]
    pub unsafe extern "C" fn leave_with_one() {
        std::arch::naked_asm!(
            "mov [r15 + {x}], r8",
            "jmp {leave}",
            x = const offset_of!(Core, x),
            leave = sym leave,
        )
    }

    /// With X0 in R8 and X1 in R9.
    #[unsafe(naked)]
    pub unsafe extern "C" fn leave_with_two() {
        std::arch::naked_asm!(
            "mov [r15 + {x}], r8",
            "mov [r15 + {x} + {word}], r9",
            "jmp {leave}",
            x = const offset_of!(Core, x),
            word = const WORD,
            leave = sym leave,
        )
    }

    /// An exit whose counter's address is in R8.
    #[unsafe(naked)]
    pub unsafe extern "C" fn leave_counted() {
        std::arch::naked_asm!("add qword ptr [r8], 1", "mov rax, [rdi]", "jmp {to}", to = sym leave_to)
    }

    /// As [`leave_counted`], where other operands were met than the code is made for. The engine hears of it at once
    /// where that is often so: until there is other code, each pass leaves here.
    #[unsafe(naked)]
    pub unsafe extern "C" fn leave_counted_operands() {
        std::arch::naked_asm!(
            "add qword ptr [r8], 1",
            "lea rax, [rip + {often}]",
            "cmp qword ptr [r8], {count}",
            "cmovne rax, [rdi]",
            "jmp {to}",
            often = sym left_often,
            count = const OFTEN,
            to = sym leave_to,
        )
    }

    /// Calls the function; goes to `asked` if it asks for something instead of a result. The native stack is as at the
    /// start of a function: its return address lies there.
    macro_rules! call_it {
        () => {
            "mov rbx, rdi
            mov r12, rdx
            mov r8, r15
            sub rsp, 8
            call {invoke}
            add rsp, 8
            mov rcx, rax
            mov rsi, rdx
            mov rdx, r12
            mov rdi, rbx
            lea rax, [rip + {asked}]
            test sil, 1
            jnz {to}"
        };
    }

    /// Calls the library's function at the code address in RDI, whose arguments are in the core, and returns from it.
    #[unsafe(naked)]
    unsafe extern "C" fn call_library() {
        std::arch::naked_asm!(
            call_it!(),
            "mov rdi, [rdx]",
            "add rdx, {word}",
            "jmp {go_on}",
            invoke = sym built_in::invoke_library,
            asked = sym built_in::asked_by_library,
            to = sym leave_to,
            word = const WORD,
            go_on = sym return_to,
        )
    }

    /// A call of a built-in function in the middle of a function, whose arguments are in the core. Goes on behind it
    /// without leaving native code, unless another handler stands at the call (because calls are traced), or the
    /// function asks for something.
    #[unsafe(naked)]
    pub unsafe extern "C" fn call_built_in() {
        std::arch::naked_asm!(
            "lea rax, [rip + {usual}]",
            "cmp [rdi], rax",
            "jne {leave}",
            call_it!(),
            "add rdi, {size}",
            "jmp {go_on}",
            usual = sym built_in::call_built_in,
            leave = sym leave,
            invoke = sym built_in::invoke_for_native,
            asked = sym built_in::asked_in_body,
            to = sym leave_to,
            size = const built_in::CALL_WORDS * WORD,
            go_on = sym return_to,
        )
    }

    /// As [`call_built_in`], in a tail position. The frame is still there.
    #[unsafe(naked)]
    pub unsafe extern "C" fn built_in_last() {
        std::arch::naked_asm!(
            "lea rax, [rip + {usual}]",
            "cmp [rdi], rax",
            "jne {leave}",
            "add rdx, [rdi + {frame}]",
            call_it!(),
            "mov rdi, [rdx]",
            "add rdx, {word}",
            "jmp {go_on}",
            usual = sym built_in::built_in_last,
            leave = sym leave,
            frame = const built_in::CALL_WORDS * WORD,
            invoke = sym built_in::invoke_for_native,
            asked = sym built_in::asked_in_tail,
            to = sym leave_to,
            word = const WORD,
            go_on = sym return_to,
        )
    }

    /// Goes on at the code address in RDI with the result in the core.
    #[unsafe(naked)]
    unsafe extern "C" fn return_to() {
        std::arch::naked_asm!(
            "lea rax, [rip + {native}]",
            "cmp [rdi], rax",
            "jne {leave}",
            "mov r8, [r15 + {x}]",
            "jmp [rdi + {word}]",
            native = sym enter_return,
            leave = sym leave,
            x = const offset_of!(Core, x),
            word = const WORD,
        )
    }

    /// The time slice ends in front of a function; R8 has the number of X registers in use, all of which are in the
    /// core.
    #[unsafe(naked)]
    pub unsafe extern "C" fn pause() {
        std::arch::naked_asm!(
            "mov [r15 + {live}], r8",
            "lea rax, [rip + {entering}]",
            "jmp {to}",
            live = const offset_of!(Core, live),
            entering = sym yield_entering,
            to = sym leave_to,
        )
    }
}

#[cfg(not(all(target_arch = "x86_64", not(target_os = "windows"))))]
mod ways {
    /// As on processors with native code: there is none to leave.
    pub unsafe extern "C" fn leave() {}
    pub use leave as built_in_last;
    pub use leave as call_built_in;
    pub use leave as leave_counted;
    pub use leave as leave_counted_operands;
    pub use leave as leave_with_one;
    pub use leave as leave_with_two;
    pub use leave as pause;
}
