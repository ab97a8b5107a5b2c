// The values a template computes with, with Python's types and meaning. Every object lives in the Heap of one
// render and is freed with it as a whole, so a Value is a plain pair that is copied freely and cycles are
// harmless. Lists, tuples and dicts never change once built (the sandbox that templates are written for
// forbids it); only a Namespace does.
#pragma once

#include <cstdint>
#include <memory_resource>
#include <optional>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace ingot::jinja {

enum class Kind : uint8_t {
    kMissing,  // an argument that wasn't passed; never reaches a template
    kUndefined,
    kNone,
    kBool,
    kInt,
    kFloat,
    kText,
    kList,
    kTuple,
    kDict,
    kRange,
    kView,      // dict.keys(), .values(), .items()
    kIterator,  // what Python yields from a generator: can be walked once
    kNamespace,
    kFunction,
    kMacro,
    kLoop,
    kCycler,
    kJoiner,
};

struct Text;
struct Sequence;
struct Dict;
struct Range;
struct View;
struct Iterator;
struct Namespace;
struct Function;
struct Macro;
struct Loop;
struct Cycler;
struct Joiner;
struct Undefined;

class Value {
  public:
    Value() : kind_(Kind::kMissing), integer_(0) {}
    static Value none() { return Value(Kind::kNone, int64_t{0}); }
    static Value boolean(bool value) { return Value(Kind::kBool, int64_t{value}); }
    static Value integer(int64_t value) { return Value(Kind::kInt, value); }
    static Value real(double value) {
        Value result(Kind::kFloat, int64_t{0});
        result.real_ = value;
        return result;
    }
    Value(Kind kind, const void* object) : kind_(kind), object_(object) {}

    Kind kind() const { return kind_; }
    bool is(Kind kind) const { return kind_ == kind; }
    bool missing() const { return kind_ == Kind::kMissing; }
    bool is_undefined() const { return kind_ == Kind::kUndefined; }
    bool is_text() const { return kind_ == Kind::kText; }
    bool is_sequence() const { return kind_ == Kind::kList || kind_ == Kind::kTuple; }
    // bool counts as an int, as in Python.
    bool is_integral() const { return kind_ == Kind::kInt || kind_ == Kind::kBool; }
    bool is_number() const { return is_integral() || kind_ == Kind::kFloat; }

    int64_t as_int() const { return integer_; }
    double as_real() const { return kind_ == Kind::kFloat ? real_ : static_cast<double>(integer_); }
    const void* object() const { return object_; }

    const Text& text() const { return *static_cast<const Text*>(object_); }
    std::string_view bytes() const;  // of a kText
    const Sequence& sequence() const { return *static_cast<const Sequence*>(object_); }
    const Dict& dict() const { return *static_cast<const Dict*>(object_); }
    const Range& range() const { return *static_cast<const Range*>(object_); }
    const View& view() const { return *static_cast<const View*>(object_); }
    Iterator& iterator() const { return *mutable_object<Iterator>(); }
    Namespace& name_space() const { return *mutable_object<Namespace>(); }
    const Function& function() const { return *static_cast<const Function*>(object_); }
    const Macro& macro() const { return *static_cast<const Macro*>(object_); }
    Loop& loop() const { return *mutable_object<Loop>(); }
    Cycler& cycler() const { return *mutable_object<Cycler>(); }
    Joiner& joiner() const { return *mutable_object<Joiner>(); }
    const Undefined& undefined() const { return *static_cast<const Undefined*>(object_); }

  private:
    Value(Kind kind, int64_t integer) : kind_(kind), integer_(integer) {}
    template <typename T>
    T* mutable_object() const {
        return static_cast<T*>(const_cast<void*>(object_));
    }

    Kind kind_;
    union {
        int64_t integer_;
        double real_;
        const void* object_;
    };
};

using Values = std::pmr::vector<Value>;

// Valid UTF-8; the bytes belong to the heap, the template or the caller's variables.
struct Text {
    std::string_view bytes;
    // Markup of `|safe` and `|escape`: joining it with other text escapes that text.
    bool markup = false;
};

inline std::string_view Value::bytes() const {
    return text().bytes;
}

struct Sequence {  // list and tuple
    Values items;
};

struct Entry {
    Value key, value;
};

struct Dict {
    std::pmr::vector<Entry> entries;  // in order of insertion, keys distinct
};

struct Range {
    int64_t start, stop, step;
    int64_t length() const;
    Value at(int64_t index) const { return Value::integer(start + index * step); }
};

struct View {
    enum class Part : uint8_t { kKeys, kValues, kItems };
    const Dict* dict;
    Part part;
};

struct KeptError {
    ErrorKind kind;
    std::string_view message, where;
};

// Filled when it is made. An error that stopped the filling shows when the reader gets there, as it would if
// the items were computed one by one.
struct Iterator {
    Values items;
    size_t next = 0;
    std::optional<KeptError> failure;
};

struct Namespace {
    std::pmr::vector<std::pair<std::string_view, Value>> names;
};

struct Cycler {
    Values items;
    size_t next = 0;
};

struct Joiner {
    Value separator;
    bool used = false;
};

struct Builtin;

struct Function {
    const Builtin* builtin;
    Value self;  // what a method is bound to; missing for a global function
};

// Something that isn't there. Printing and iterating it is allowed; any other use fails with the message.
struct Undefined {
    std::string_view hint;   // the whole message, if not empty
    Value name;              // what was looked up
    std::string_view owner;  // "dict object", empty for a variable
};

}  // namespace ingot::jinja
