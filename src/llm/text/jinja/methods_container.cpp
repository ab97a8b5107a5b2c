// Methods of lists, tuples, dicts and of the objects that templates get from Jinja; and which table serves
// which type.
#include "llm/text/jinja/builtin.h"
#include "llm/text/jinja/compare.h"
#include "llm/text/jinja/interpreter.h"
#include "llm/text/jinja/print.h"

namespace ingot::jinja {
namespace {

Result<Value> index(Call& call) {
    const Values& items = call.self.sequence().items;
    for (size_t i = 0; i < items.size(); ++i) {
        INGOT_ASSIGN(const bool same, equal(call.heap, items[i], call.args[0]));
        if (same) return Value::integer(static_cast<int64_t>(i));
    }
    return fail(ErrorKind::kInvalidArgument, "the value isn't in the {}", type_name(call.self));
}

Result<Value> count(Call& call) {
    int64_t times = 0;
    for (const Value& item : call.self.sequence().items) {
        INGOT_ASSIGN(const bool same, equal(call.heap, item, call.args[0]));
        times += same;
    }
    return Value::integer(times);
}

Result<Value> copy_list(Call& call) {
    Values items = call.heap.values();
    items = call.self.sequence().items;
    return call.heap.list(std::move(items));
}

Result<Value> get(Call& call) {
    INGOT_ASSIGN(const Value* const found, find_key(call.heap, call.self.dict(), call.args[0]));
    if (found) return *found;
    return call.args.has(1) ? call.args[1] : Value::none();
}

template <View::Part Part>
Result<Value> view(Call& call) {
    return Value(Kind::kView, call.heap.make(View{&call.self.dict(), Part}));
}

Result<Value> copy_dict(Call& call) {
    std::pmr::vector<Entry> entries(call.self.dict().entries, call.heap.arena());
    return call.heap.dict(std::move(entries));
}

Result<Value> cycle(Call& call) {
    const auto& items = call.args.rest.positional;
    if (items.empty()) return fail(ErrorKind::kInvalidArgument, "no items for cycling given");
    return items[call.self.loop().index % items.size()];
}

Result<Value> loop_changed(Call& call) {
    Loop& loop = call.self.loop();
    const auto& now = call.args.rest.positional;
    bool same = loop.changed_called && loop.changed.size() == now.size();
    for (size_t i = 0; same && i < now.size(); ++i) {
        INGOT_ASSIGN(same, equal(call.heap, loop.changed[i], now[i]));
    }
    loop.changed_called = true;
    loop.changed.assign(now.begin(), now.end());
    return Value::boolean(!same);
}

Result<Value> cycler_next(Call& call) {
    Cycler& cycler = call.self.cycler();
    const Value item = cycler.items[cycler.next];
    cycler.next = (cycler.next + 1) % cycler.items.size();
    return item;
}

Result<Value> cycler_reset(Call& call) {
    call.self.cycler().next = 0;
    return Value::none();
}

constexpr Builtin kSequence[] = {
    builtin("index", index, 1, {""}),
    builtin("count", count, 1, {""}),
};
constexpr Builtin kList[] = {builtin("copy", copy_list)};
constexpr Builtin kDict[] = {
    builtin("get", get, 1, {"", ""}),
    builtin("items", view<View::Part::kItems>),
    builtin("keys", view<View::Part::kKeys>),
    builtin("values", view<View::Part::kValues>),
    builtin("copy", copy_dict),
};
constexpr Builtin kLoop[] = {variadic("cycle", cycle), variadic("changed", loop_changed)};
constexpr Builtin kCycler[] = {builtin("next", cycler_next), builtin("reset", cycler_reset)};

}  // namespace

const Builtin* find_method(const Value& value, std::string_view name) {
    const Builtin* found = nullptr;
    switch (value.kind()) {
        case Kind::kText:
            found = find_builtin(text_methods(), name);
            return found ? found : find_builtin(text_search_methods(), name);
        case Kind::kList:
            found = find_builtin(kList, name);
            return found ? found : find_builtin(kSequence, name);
        case Kind::kTuple:
            return find_builtin(kSequence, name);
        case Kind::kDict:
            return find_builtin(kDict, name);
        case Kind::kLoop:
            return find_builtin(kLoop, name);
        case Kind::kCycler:
            return find_builtin(kCycler, name);
        default:
            return nullptr;
    }
}

}  // namespace ingot::jinja
