// SPDX-License-Identifier: Apache-2.0
// clusterjit.hpp: reading PTX, launch rules, and functions of the user's (clusterjit/check.h, contract.h, nvrtc.h).
#ifndef CLUSTERJIT_CXX_CHECK_HPP
#define CLUSTERJIT_CXX_CHECK_HPP

#include <exception>
#include <string_view>
#include <vector>

#include <clusterjit/cxx/error.hpp>

namespace clusterjit {

// A finding that outlives its report.
struct diagnostic {
    cj_severity severity;
    std::string rule;
    unsigned    line, column;  // from 1; 0: the whole file
    std::string message, hint;
};

// What breaks rules in a PTX text, in its order; empty where nothing does. `arch` holds it against another target than its own.
inline std::vector<diagnostic> check(std::string_view ptx, const char *arch = nullptr) {
    cj_check_options options{};
    options.arch = arch;
    const std::string text(ptx);
    cj_report        *report = nullptr;
    call(cj_check_ptx, text.c_str(), text.size(), &options, &report);
    handle<cj_report, cj_report_destroy> owned(report);
    std::vector<diagnostic>              found;
    while (const cj_diagnostic *one = cj_report_at(report, found.size()))
        found.push_back({one->severity, one->rule, one->line, one->column, one->message, one->hint});
    return found;
}

// The same instructions in the library's layout.
inline std::string format(std::string_view ptx) {
    const std::string text(ptx);
    char             *made = nullptr;
    size_t            length = 0;
    call(cj_format_ptx, text.c_str(), text.size(), &made, &length);
    return take_text(made, length);
}

// The PTX of kernels in CUDA C++ (NVRTC).
inline std::string compile(const cj_cuda_source &source) {
    char  *made = nullptr;
    size_t length = 0;
    call(cj_ptx_from_cuda, &source, &made, &length);
    return take_text(made, length);
}

// Finds the source's places for lines of a PTX text.
class source_map {
  public:
    explicit source_map(std::string_view ptx) {
        const std::string text(ptx);
        cj_source_map    *made = nullptr;
        call(cj_source_map_create, text.c_str(), text.size(), &made);
        map_.reset(made);
    }
    const cj_source *find(unsigned line) const noexcept { return cj_source_map_find(map_.get(), line); }

  private:
    handle<cj_source_map, cj_source_map_destroy> map_;
};

// A launch rule that a launch breaks.
struct violation {
    cj_severity severity;  // a warning does not keep the driver from launching
    std::string rule, message, hint;
};

// The rules that a launch breaks; empty where the device would take it.
inline std::vector<violation> check_launch(const cj_contract_query &query) {
    struct list {
        std::vector<violation> found;
        std::exception_ptr     thrown;  // not through the C call
    } all;
    const auto visit = [](void *user, const cj_violation *one) {
        list &in = *static_cast<list *>(user);
        try {
            in.found.push_back({one->severity, one->rule, one->message, one->hint});
        } catch (...) { in.thrown = std::current_exception(); }
    };
    cj_error        failure{};
    const cj_status status = cj_contract_check(&query, visit, &all, &failure);
    if (all.thrown) std::rethrow_exception(all.thrown);
    if (status != CJ_OK && status != CJ_CONTRACT) throw error(failure);
    return std::move(all.found);
}

inline cj_limits limits_of(const char *name) {  // "h200", "sm_90a", …
    cj_limits found{};
    call(cj_limits_named, name, &found);
    return found;
}

// A user's function, for the families that take one (reduce, scan). Copies share it.
class user_function {
  public:
    explicit user_function(const cj_cuda_desc &desc) {
        cj_user_function *made = nullptr;
        call(cj_function_from_cuda, &desc, &made);
        function_.reset(made, cj_user_function_destroy);
    }
    user_function(std::string_view ptx, const char *name, const cj_signature &signature) {
        const std::string text(ptx);
        cj_user_function *made = nullptr;
        call(cj_function_from_ptx, text.c_str(), text.size(), name, &signature, &made);
        function_.reset(made, cj_user_function_destroy);
    }
    const cj_user_function *get() const noexcept { return function_.get(); }

  private:
    std::shared_ptr<cj_user_function> function_;
};

}  // namespace clusterjit

#endif
