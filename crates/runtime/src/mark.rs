//! Where native code takes over from interpreted code, and how the two call each other.
//!
//! A code address is that of a word that holds a [`crate::core::Handler`], whichever engine made the code. Native code
//! has its own conventions for what is in machine registers: the core in R15 everywhere; heap top, stack pointer and
//! reductions where handlers have them; and X registers. The handlers here stand at code addresses and change from the
//! one to the other. Native code that calls or returns looks at the handler that it is about to jump to; where it is
//! one of these, it jumps to the native code behind it and keeps everything in registers.
//!
//! | handler | stands | native code | takes |
//! |---|---|---|---|
//! | [`enter_function`] | at a function's first instruction | word in front of it | X0 to X2 |
//! | [`enter_return`] | at a mark behind a call | second word of the mark | X0 |
//! | [`enter_point`] | at another mark | second word of the mark | nothing: X registers are in the core |
//! | [`passed`] | at a mark that is not in use | | |

use std::sync::atomic::{AtomicU64, Ordering};

use atoll_term::Word;

use crate::core::{Core, Exit, Handler, dispatch, handler};

/// Words of a mark.
pub const MARK_WORDS: usize = 2;
/// X registers that are passed in machine registers when a function is called.
pub const PASSED: usize = 3;

/// A mark that is not in use: the next instruction follows it.
pub unsafe fn passed(ip: *const Word, hp: *mut Word, e: *mut Word, reds: i64, c: *mut Core) -> Exit {
    // SAFETY: an instruction follows a mark.
    unsafe { dispatch(ip.add(MARK_WORDS), hp, e, reds, c) }
}

/// Whether a mark stands at this code address, in use or not.
///
/// # Safety
/// This is the address of a word of code, or of the word behind all code.
pub unsafe fn is_mark(address: *const Word) -> bool {
    // SAFETY: the caller's obligation; code is written word by word while others read it.
    let word = unsafe { AtomicU64::from_ptr(address.cast_mut()) }.load(Ordering::Relaxed);
    let Gates { return_, point, passed, .. } = gates();
    [return_, point, passed].contains(&word)
}

/// Whether a mark that is in use stands at this code address. Two of them are in different places, because a function
/// has one native code at a time.
///
/// # Safety
/// As for [`is_mark`].
pub unsafe fn is_in_use(address: *const Word) -> bool {
    // SAFETY: the caller's obligation; code is written word by word while others read it.
    let word = unsafe { AtomicU64::from_ptr(address.cast_mut()) }.load(Ordering::Relaxed);
    let Gates { return_, point, .. } = gates();
    word == return_ || word == point
}

/// The instruction at which a process goes on that stands here: behind a mark, if there is one.
///
/// # Safety
/// As for [`is_mark`].
pub unsafe fn instruction(address: *const Word) -> *const Word {
    // SAFETY: the caller's obligation.
    if unsafe { is_mark(address) } { address.wrapping_add(MARK_WORDS) } else { address }
}

/// Whether there is native code for this machine's processor.
pub const IS_POSSIBLE: bool = cfg!(all(target_arch = "x86_64", not(target_os = "windows")));

/// Code words of the handlers that enter native code.
#[derive(Clone, Copy, Debug)]
pub struct Gates {
    /// [`enter_function`]
    pub function: Word,
    /// [`enter_return`]
    pub return_: Word,
    /// [`enter_point`]
    pub point: Word,
    /// [`passed`]
    pub passed: Word,
}

/// Code words of the handlers that enter native code.
pub fn gates() -> Gates {
    Gates {
        function: enter_function as *const () as usize as Word,
        return_: enter_return as *const () as usize as Word,
        point: enter_point as *const () as usize as Word,
        passed: handler(passed as Handler),
    }
}

#[cfg(all(target_arch = "x86_64", not(target_os = "windows")))]
mod gate {
    use std::mem::offset_of;

    use super::{Core, Exit, Word};

    // A handler's arguments are in RDI (instruction pointer), RSI (heap top), RDX (stack pointer), RCX (reductions) and
    // R8 (core): five integers, which the conventions of C and of Rust pass alike. Native code takes heap top, stack
    // pointer and reductions in the same registers, X0 and X1 in R8 and R9, and X2 in RDI. A handler that was called,
    // and not jumped to, finds its registers unchanged afterwards: those that a function has to save are kept in the
    // core until native code leaves.

    /// Keeps the registers that native code uses and a function has to save. They have been saved once then, and not
    /// in each region.
    macro_rules! keep {
        () => {
            "mov [r8 + {kept}], r15
            mov [r8 + {kept} + 8], rbx
            mov [r8 + {kept} + 16], r12
            mov [r8 + {kept} + 24], r13
            mov [r8 + {kept} + 32], r14"
        };
    }

    /// Enters a function's native code.
    #[unsafe(naked)]
    pub unsafe extern "C" fn enter_function(_: *const Word, _: *mut Word, _: *mut Word, _: i64, _: *mut Core) -> Exit {
        std::arch::naked_asm!(
            keep!(),
            "mov r15, r8",
            "mov rax, [rdi - 8]",
            "mov r8, [r15 + {x}]",
            "mov r9, [r15 + {x} + 8]",
            "mov rdi, [r15 + {x} + 16]",
            "jmp rax",
            x = const offset_of!(Core, x),
            kept = const offset_of!(Core, kept),
        )
    }

    /// Enters native code behind a call, with the call's result.
    #[unsafe(naked)]
    pub unsafe extern "C" fn enter_return(_: *const Word, _: *mut Word, _: *mut Word, _: i64, _: *mut Core) -> Exit {
        std::arch::naked_asm!(
            keep!(),
            "mov r15, r8",
            "mov r8, [r15 + {x}]",
            "jmp [rdi + 8]",
            x = const offset_of!(Core, x),
            kept = const offset_of!(Core, kept),
        )
    }

    /// Enters native code at any other place.
    #[unsafe(naked)]
    pub unsafe extern "C" fn enter_point(_: *const Word, _: *mut Word, _: *mut Word, _: i64, _: *mut Core) -> Exit {
        std::arch::naked_asm!(
            keep!(),
            "mov r15, r8",
            "jmp [rdi + 8]",
            kept = const offset_of!(Core, kept),
        )
    }

    /// Has the core's request answered, and changes no register: native code saves nothing for calls that it hardly
    /// ever makes.
    #[unsafe(naked)]
    pub unsafe extern "C" fn help() {
        std::arch::naked_asm!(
            "push rbp", "mov rbp, rsp", "and rsp, -16",
            "push rax", "push rcx", "push rdx", "push rsi", "push rdi", "push r8", "push r9", "push r10", "push r11",
            "sub rsp, 136",
            "movsd [rsp], xmm0", "movsd [rsp + 8], xmm1", "movsd [rsp + 16], xmm2", "movsd [rsp + 24], xmm3",
            "movsd [rsp + 32], xmm4", "movsd [rsp + 40], xmm5", "movsd [rsp + 48], xmm6", "movsd [rsp + 56], xmm7",
            "movsd [rsp + 64], xmm8", "movsd [rsp + 72], xmm9", "movsd [rsp + 80], xmm10", "movsd [rsp + 88], xmm11",
            "movsd [rsp + 96], xmm12", "movsd [rsp + 104], xmm13", "movsd [rsp + 112], xmm14",
            "movsd [rsp + 120], xmm15",
            "mov rdi, r15",
            "call [r15 + {function}]",
            "movsd xmm0, [rsp]", "movsd xmm1, [rsp + 8]", "movsd xmm2, [rsp + 16]", "movsd xmm3, [rsp + 24]",
            "movsd xmm4, [rsp + 32]", "movsd xmm5, [rsp + 40]", "movsd xmm6, [rsp + 48]", "movsd xmm7, [rsp + 56]",
            "movsd xmm8, [rsp + 64]", "movsd xmm9, [rsp + 72]", "movsd xmm10, [rsp + 80]", "movsd xmm11, [rsp + 88]",
            "movsd xmm12, [rsp + 96]", "movsd xmm13, [rsp + 104]", "movsd xmm14, [rsp + 112]",
            "movsd xmm15, [rsp + 120]",
            "add rsp, 136",
            "pop r11", "pop r10", "pop r9", "pop r8", "pop rdi", "pop rsi", "pop rdx", "pop rcx", "pop rax",
            "mov rsp, rbp", "pop rbp", "ret",
            function = const offset_of!(Core, request.function),
        )
    }

    /// As [`help`], for code that has no floats in machine registers.
    #[unsafe(naked)]
    pub unsafe extern "C" fn help_without_floats() {
        std::arch::naked_asm!(
            "push rbp", "mov rbp, rsp", "and rsp, -16",
            "push rax", "push rcx", "push rdx", "push rsi", "push rdi", "push r8", "push r9", "push r10", "push r11",
            "sub rsp, 8",
            "mov rdi, r15",
            "call [r15 + {function}]",
            "add rsp, 8",
            "pop r11", "pop r10", "pop r9", "pop r8", "pop rdi", "pop rsi", "pop rdx", "pop rcx", "pop rax",
            "mov rsp, rbp", "pop rbp", "ret",
            function = const offset_of!(Core, request.function),
        )
    }
}

#[cfg(not(all(target_arch = "x86_64", not(target_os = "windows"))))]
mod gate {
    use super::{Core, Exit, Word};

    /// As on processors with native code: there is none to enter.
    pub unsafe extern "C" fn enter_function(
        ip: *const Word,
        hp: *mut Word,
        e: *mut Word,
        reds: i64,
        c: *mut Core,
    ) -> Exit {
        // SAFETY: nothing puts this handler anywhere.
        unsafe { super::passed(ip, hp, e, reds, c) }
    }
    /// Nothing calls this.
    pub unsafe extern "C" fn help() {}
    pub use enter_function as enter_return;
    pub use enter_function as enter_point;
    pub use help as help_without_floats;
}

pub use gate::{enter_function, enter_point, enter_return, help, help_without_floats};
