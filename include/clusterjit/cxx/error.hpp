// SPDX-License-Identifier: Apache-2.0
// clusterjit.hpp: errors as exceptions, and handles that destroy themselves.
#ifndef CLUSTERJIT_CXX_ERROR_HPP
#define CLUSTERJIT_CXX_ERROR_HPP

#include <clusterjit/clusterjit.h>

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

namespace clusterjit {

// What a C call filled its cj_error with. what() is the message, then the rule in brackets, then the hint.
class error : public std::runtime_error {
  public:
    explicit error(const cj_error &from) : std::runtime_error(text_of(from)), from_(from) {}

    cj_status       status() const noexcept { return from_.status; }
    const char     *message() const noexcept { return from_.message; }
    const char     *rule() const noexcept { return from_.rule; }  // "" where no rule was broken
    const char     *hint() const noexcept { return from_.hint; }  // "" where there is nothing to advise
    const cj_error &c_error() const noexcept { return from_; }

  private:
    static std::string text_of(const cj_error &from) {
        std::string text = from.message[0] ? from.message : cj_status_text(from.status);
        if (from.rule[0]) text += std::string(" [") + from.rule + "]";
        if (from.hint[0]) text += std::string("; ") + from.hint;
        return text;
    }

    cj_error from_;
};

// Calls a C function whose last parameter is a cj_error, and throws what it fills in.
template <class Function, class... Arguments> void call(Function *function, Arguments... arguments) {
    cj_error        failure{};
    const cj_status status = function(arguments..., &failure);
    if (status == CJ_OK) return;
    failure.status = status;
    throw error(failure);
}

template <auto Destroy> struct destroys {
    template <class T> void operator()(T *handle) const noexcept { Destroy(handle); }
};

// A C handle with one owner.
template <class T, auto Destroy> using handle = std::unique_ptr<T, destroys<Destroy>>;

// Text that a C call returned, as a string.
inline std::string take_text(char *text, size_t length) {
    handle<char, cj_text_free> owned(text);
    return std::string(text, length);
}

}  // namespace clusterjit

#endif
