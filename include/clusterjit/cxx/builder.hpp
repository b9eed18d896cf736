// SPDX-License-Identifier: Apache-2.0
// clusterjit.hpp: writing PTX (clusterjit/ptx.h, value.h, control.h), with bodies of loops and conditions as lambdas:
//
//     clusterjit::builder  ptx("sm_90");
//     clusterjit::function_writer f = ptx.entry("scale");
//     cj_var x = f.param("u64", "x", "float *x [n]"), n = f.param("u32", "n");
//     cj_reg thread = f.mov("u32", "thread", "%tid.x");
//     cj_reg base = f.let("u64", "base", "ld.param.u64 $1, [$2];", x), count = f.let("u32", "count", "ld.param.u32 $1, [$2];", n);
//     f.loop_from("u32", "i", thread, count, 256, [&](cj_reg i) {
//         cj_reg at = f.mad_wide("at", i, 4, base);
//         f.ptx("st.global.f32 [$1], $2;", at, f.mul("twice", f.let("f32", "value", "ld.global.f32 $1, [$2];", at), 2.0f));
//     });
//     f.ptx("ret;");
//     std::string text = ptx.finish();                       // throws the first error, with the line of the program that made it
//
// A function_writer converts to cj_func *, so every C call and macro takes it (cluster.h, pipeline.h, collectives.h, warpgroup.h).
#ifndef CLUSTERJIT_CXX_BUILDER_HPP
#define CLUSTERJIT_CXX_BUILDER_HPP

#include <clusterjit/cxx/error.hpp>

namespace clusterjit {

// A text, and the line of the program that gives it, which errors name.
struct placed_text {
    const char *text;
    const char *file;
    int         line;

    placed_text(const char *given, const char *in = __builtin_FILE(), int at = __builtin_LINE()) noexcept
        : text(given), file(in), line(at) {}
};

class function_writer {
  public:
    explicit function_writer(cj_func *f) noexcept : f_(f) {}
    operator cj_func *() const noexcept { return f_; }

    // ---- what a launch gives (cj_param, cj_shared), and directives

    cj_var param(const char *type, const char *name, const char *comment = nullptr) const {
        return cj_param(f_, type, name, comment);
    }
    cj_var shared(const char *type, const char *name, std::uint32_t count, std::uint32_t align = 0) const {
        return cj_shared(f_, type, name, count, align);
    }
    void block(std::uint32_t x, std::uint32_t y = 1, std::uint32_t z = 1) const { cj_block(f_, x, y, z); }
    void cluster(std::uint32_t x, std::uint32_t y = 1, std::uint32_t z = 1) const { cj_cluster(f_, x, y, z); }

    // ---- lines: $1, $2, … stand for the operands

    template <class... Operands> void ptx(placed_text text, const Operands &...operands) const {
        const cj_arg all[] = {CJ_ARG(text.text), CJ_ARG(operands)...};
        cj_ptx_args(f_, text.file, text.line, all, 1 + sizeof...(Operands));
    }
    void step(const char *text) const { cj_step(f_, "%s", text); }
    void note(const char *text) const { cj_note(f_, "%s", text); }

    // ---- values: a new register of `type`, $1 of the text, made of the operands $2, $3, …

    cj_reg reg(const char *type, const char *name) const { return cj_register(f_, type, name); }
    template <class... Operands>
    cj_reg let(const char *type, const char *name, placed_text text, const Operands &...operands) const {
        const cj_arg all[] = {CJ_ARG(text.text), CJ_ARG(operands)...};
        return cj_let_args(f_, text.file, text.line, type, name, all, 1 + sizeof...(Operands));
    }
    template <class Value> cj_reg mov(const char *type, placed_text name, const Value &value) const {
        return let(type, name.text, placed_text("mov.$3 $1, $2;", name.file, name.line), value, type);
    }
    cj_reg cvt(const char *type, placed_text name, cj_reg from) const {
        return cj_convert_args(f_, name.file, name.line, type, name.text, from);
    }
    template <class A, class B>
    cj_reg select(const char *type, placed_text name, cj_reg p, const A &a, const B &b) const {
        return let(type, name.text, placed_text("selp.$5 $1, $2, $3, $4;", name.file, name.line), a, b, p, type);
    }

// name = operation of the operands, as cj_add and its sisters; the first register among them says the type.
#define CJ__OPERATION(method, operation)                                                              \
    template <class... Operands> cj_reg method(placed_text name, const Operands &...operands) const { \
        return operate(operation, name, operands...);                                                 \
    }
    CJ__OPERATION(add, "add")
    CJ__OPERATION(sub, "sub")
    CJ__OPERATION(mul, "mul")
    CJ__OPERATION(mad, "mad")
    CJ__OPERATION(div, "div")
    CJ__OPERATION(rem, "rem")
    CJ__OPERATION(min, "min")
    CJ__OPERATION(max, "max")
    CJ__OPERATION(mul_wide, "mul.wide")
    CJ__OPERATION(mad_wide, "mad.wide")
    CJ__OPERATION(bit_and, "and")
    CJ__OPERATION(bit_or, "or")
    CJ__OPERATION(bit_xor, "xor")
    CJ__OPERATION(shl, "shl")
    CJ__OPERATION(shr, "shr")
    CJ__OPERATION(eq, "setp.eq")
    CJ__OPERATION(ne, "setp.ne")
    CJ__OPERATION(lt, "setp.lt")
    CJ__OPERATION(le, "setp.le")
    CJ__OPERATION(gt, "setp.gt")
    CJ__OPERATION(ge, "setp.ge")
#undef CJ__OPERATION

    // x = x operation operands; x = a; x = a where p holds.
    template <class... Operands> void update(cj_reg x, placed_text operation, const Operands &...operands) const {
        const cj_arg all[] = {CJ_ARG(operands)...};
        cj_update_args(f_, operation.file, operation.line, x, operation.text, all, sizeof...(Operands));
    }
    template <class A>
    void set(cj_reg x, const A &a, const char *file = __builtin_FILE(), int at = __builtin_LINE()) const {
        cj_set_args(f_, file, at, x, CJ_ARG(a));
    }
    template <class A>
    void set_if(cj_reg p, cj_reg x, const A &a, const char *file = __builtin_FILE(), int at = __builtin_LINE()) const {
        cj_set_if_args(f_, file, at, p, x, CJ_ARG(a));
    }

    // ---- control: bodies are called once, when the text is written. Names are those of labels and registers.

    template <class Body> void when(cj_reg p, const char *done, Body &&body) const {
        write(cj_if_begin(f_, p, 1, done, 0), body);
    }
    template <class Body> void unless(cj_reg p, const char *done, Body &&body) const {
        write(cj_if_begin(f_, p, 0, done, 0), body);
    }
    template <class Body, class Other>
    void when_else(cj_reg p, const char *other, const char *done, Body &&body, Other &&otherwise) const {
        cj_body open = cj_if_else_begin(f_, p, other, done, 0);
        for (; open.open; cj_body_end(&open)) open.open == 2 ? body() : otherwise();
    }
    // do … while (p), where body() returns p.
    template <class Body> void do_while(const char *label, Body &&body) const {
        cj_body open = cj_do_begin(f_, label, 0);
        while (open.open) cj_do_end(&open, body());
    }
    // body(loop) again and again, until cj_leave(&loop, p).
    template <class Body> void loop(const char *label, const char *done, Body &&body) const {
        cj_body open = cj_loop_begin(f_, label, done, 0);
        for (; open.open; cj_body_end(&open)) body(static_cast<const cj_body &>(open));
    }
    // for (i = first; i < limit; i += step) body(i)
    template <class First, class Limit, class Step, class Body>
    void loop_from(const char *type, const char *name, const First &first, const Limit &limit, const Step &step,
                   Body &&body) const {
        cj_body open = cj_for_begin(f_, type, name, CJ_ARG(first), CJ_ARG(limit), CJ_ARG(step));
        for (; open.open; cj_body_end(&open)) body(open.index);
    }

  private:
    template <class... Operands>
    cj_reg operate(const char *operation, placed_text name, const Operands &...operands) const {
        const cj_arg all[] = {CJ_ARG(operands)...};
        return cj_operation_args(f_, name.file, name.line, operation, name.text, all, sizeof...(Operands));
    }
    template <class Body> static void write(cj_body open, Body &body) {
        for (; open.open; cj_body_end(&open)) body();
    }

    cj_func *f_;
};

class builder {
  public:
    explicit builder(const char *arch) : builder_(cj_builder_create(arch)) {}

    cj_builder     *get() const noexcept { return builder_.get(); }
    void            head(const char *text) const { cj_head(get(), "%s", text); }
    void            declare(const char *text) const { cj_declare(get(), text); }
    function_writer entry(const char *name) const { return function_writer(cj_entry(get(), name)); }
    cj_callee       function(const cj_user_function *function, const char *name) const {
              return cj_builder_function(get(), function, name);
    }

    // The whole text; afterwards the builder can only be destroyed.
    std::string finish() const {
        char  *text = nullptr;
        size_t length = 0;
        call(cj_builder_finish, get(), &text, &length);
        return take_text(text, length);
    }

  private:
    handle<cj_builder, cj_builder_destroy> builder_;
};

}  // namespace clusterjit

#endif
