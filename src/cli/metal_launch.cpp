#include "cli/metal_launch.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <random>

#include <sys/mman.h>
#include <unistd.h>

#include "base/half.h"
#include "base/round_up.h"
#include "metal/exec/deadline.h"
#include "metal/exec/tensor_argument.h"

namespace ingot::cli {
namespace {

std::vector<std::string_view> split(std::string_view text, char separator) {
    std::vector<std::string_view> parts;
    for (size_t at = 0; at <= text.size();) {
        const size_t end = std::min(text.find(separator, at), text.size());
        parts.push_back(text.substr(at, end - at));
        at = end + 1;
    }
    return parts;
}

Result<uint32_t> to_u32(std::string_view text, std::string_view flag) {
    uint32_t value = 0;
    const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
    if (text.empty() || parsed.ec != std::errc{} || parsed.ptr != text.data() + text.size()) {
        return fail(ErrorKind::kInvalidArgument, "'{}': '{}' is no number", flag, text);
    }
    return value;
}

// "SLOT=REST"
Result<std::pair<uint32_t, std::string_view>> split_slot(std::string_view flag, uint32_t slots) {
    const size_t equals = flag.find('=');
    if (equals == std::string_view::npos) {
        return fail(ErrorKind::kInvalidArgument, "'{}' has no slot; write SLOT=...", flag);
    }
    INGOT_ASSIGN(const uint32_t slot, to_u32(flag.substr(0, equals), flag));
    if (slot >= slots) return fail(ErrorKind::kInvalidArgument, "'{}': the last slot is {}", flag, slots - 1);
    return std::pair(slot, flag.substr(equals + 1));
}

Result<metal::Size3> parse_size(std::string_view text, std::string_view flag) {
    const auto parts = split(text, ',');
    if (parts.empty() || parts.size() > 3) {
        return fail(ErrorKind::kInvalidArgument, "{} '{}': one to three numbers, X,Y,Z", flag, text);
    }
    uint32_t sizes[3] = {1, 1, 1};
    for (size_t i = 0; i < parts.size(); ++i) {
        INGOT_ASSIGN(sizes[i], to_u32(parts[i], text));
    }
    return metal::Size3{sizes[0], sizes[1], sizes[2]};
}

// Stores one number as an element of `type`.
void store_number(std::byte* at, const ElementType& type, double value) {
    const auto put = [&](auto stored) { std::memcpy(at, &stored, sizeof stored); };
    if (type.name == "f32") return put(float(value));
    if (type.name == "f16") return put(float_to_half(float(value)));
    if (type.name == "bf16") return put(float_to_bfloat16(float(value)));
    switch (type.size_bytes) {
        case 1:
            return put(int8_t(int64_t(value)));
        case 2:
            return put(int16_t(int64_t(value)));
        case 4:
            return put(int32_t(int64_t(value)));
        default:
            return put(int64_t(value));
    }
}

// "f16[64,64]:seed=1"
Result<Array> random_array(const std::vector<std::string_view>& parts, std::string_view flag) {
    INGOT_ASSIGN(Array array, parse_array_type(parts[1]));
    uint32_t seed = 0;
    if (parts.size() > 2) {
        if (!parts[2].starts_with("seed="))
            return fail(ErrorKind::kInvalidArgument, "'{}': seed=N is meant", flag);
        INGOT_ASSIGN(seed, to_u32(parts[2].substr(5), flag));
    }
    std::mt19937 generator(seed);
    std::normal_distribution<double> normal;
    for (size_t i = 0; i < array.count(); ++i) {
        store_number(array.data.data() + i * array.type->size_bytes, *array.type, normal(generator));
    }
    return array;
}

// Whole pages, as a Metal buffer has them, between addresses that nobody may touch: a kernel that leaves its
// buffer by more than the rest of a page ends its launch, not this process.
Result<void> move_to_guarded_memory(Bound& bound) {
    constexpr size_t kGuardBytes = size_t{1} << 30;
    const size_t size = bound.array.data.size();
    const size_t held = round_up(std::max<size_t>(size, 1), size_t(::sysconf(_SC_PAGESIZE)));
    const size_t whole = held + 2 * kGuardBytes;
    void* mapping = ::mmap(nullptr, whole, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapping == MAP_FAILED) {
        return fail(ErrorKind::kLimit, "no memory for buffer slot {} of {} bytes", bound.slot, size);
    }
    bound.memory = {static_cast<std::byte*>(mapping) + kGuardBytes,
                    [mapping, whole](std::byte*) { ::munmap(mapping, whole); }};
    if (::mprotect(bound.memory.get(), held, PROT_READ | PROT_WRITE) != 0) {
        return fail(ErrorKind::kLimit, "no memory for buffer slot {} of {} bytes", bound.slot, size);
    }
    std::ranges::copy(bound.array.data, bound.memory.get());
    return {};
}

// in.npy | zeros:TYPE | randn:TYPE[:seed=N] | out:TYPE | out:FILE:TYPE | inout:IN:OUT
Result<Bound> parse_buffer(std::string_view flag) {
    INGOT_ASSIGN(const auto slot_and_rest, split_slot(flag, metal::kNumBufferSlots));
    const auto& [slot, rest] = slot_and_rest;
    const auto parts = split(rest, ':');
    Bound bound{.slot = slot};
    if (parts.size() == 1) {
        INGOT_ASSIGN(bound.array, read_npy(std::string(rest)));
    } else if (parts[0] == "zeros" && parts.size() == 2) {
        INGOT_ASSIGN(bound.array, parse_array_type(parts[1]));
    } else if (parts[0] == "randn") {
        INGOT_ASSIGN(bound.array, random_array(parts, flag));
    } else if (parts[0] == "out" && parts.size() == 3) {
        INGOT_ASSIGN(bound.array, parse_array_type(parts[2]));
        bound.result_path = parts[1];
        bound.initialised = false;
    } else if (parts[0] == "out" && parts.size() == 2) {
        INGOT_ASSIGN(bound.array, parse_array_type(parts[1]));
        bound.initialised = false;
    } else if (parts[0] == "inout" && parts.size() == 3) {
        INGOT_ASSIGN(bound.array, read_npy(std::string(parts[1])));
        bound.result_path = parts[2];
    } else {
        return fail(ErrorKind::kInvalidArgument,
                    "'{}': after the slot comes FILE.npy, zeros:TYPE, randn:TYPE[:seed=N], out:TYPE, "
                    "out:FILE:TYPE or "
                    "inout:IN:OUT, a type being f32[64,64]",
                    flag);
    }
    INGOT_TRY(move_to_guarded_memory(bound));
    return bound;
}

// Stores the number that `text` spells, exactly: integers needn't fit a double.
Result<void> store_text(std::byte* at, const ElementType& type, std::string_view text,
                        std::string_view flag) {
    const char* end = text.data() + text.size();
    const bool is_float = type.name == "f32" || type.name == "f16" || type.name == "bf16";
    const bool is_signed = type.name.starts_with('i');
    double number = 0;
    int64_t integer = 0;
    uint64_t natural = 0;
    const auto parsed = is_float    ? std::from_chars(text.data(), end, number)
                        : is_signed ? std::from_chars(text.data(), end, integer)
                                    : std::from_chars(text.data(), end, natural);
    if (text.empty() || parsed.ec == std::errc::invalid_argument || parsed.ptr != end) {
        return fail(ErrorKind::kInvalidArgument, "'{}': '{}' is no number", flag, text);
    }
    if (is_float) {
        store_number(at, type, number);
        return {};
    }
    if (is_signed) natural = uint64_t(integer);
    std::memcpy(at, &natural, type.size_bytes);
    const unsigned unused_bits = 64 - 8 * unsigned(type.size_bytes);
    const uint64_t kept = is_signed ? uint64_t(int64_t(natural << unused_bits) >> unused_bits)
                                    : natural << unused_bits >> unused_bits;
    const bool fits = kept == natural && parsed.ec == std::errc{} && (type.name != "bool" || natural <= 1);
    if (!fits) return fail(ErrorKind::kInvalidArgument, "'{}': '{}' doesn't fit {}", flag, text, type.name);
    return {};
}

// i32:1024 | i64:9,1
Result<Bound> parse_bytes(std::string_view flag) {
    INGOT_ASSIGN(const auto slot_and_rest, split_slot(flag, metal::kNumBufferSlots));
    const auto& [slot, rest] = slot_and_rest;
    const size_t colon = rest.find(':');
    if (colon == std::string_view::npos) {
        return fail(ErrorKind::kInvalidArgument, "'{}': TYPE:VALUE[,VALUE...] is meant, e.g. 4=i32:1024",
                    flag);
    }
    Bound bound{.slot = slot};
    INGOT_ASSIGN(bound.array.type, element_type(rest.substr(0, colon)));
    const auto values = split(rest.substr(colon + 1), ',');
    bound.array.shape = {values.size()};
    bound.array.data.resize(values.size() * bound.array.type->size_bytes);
    for (size_t i = 0; i < values.size(); ++i) {
        INGOT_TRY(store_text(bound.array.data.data() + i * bound.array.type->size_bytes, *bound.array.type,
                             values[i], flag));
    }
    INGOT_TRY(move_to_guarded_memory(bound));
    return bound;
}

// As --buffer, for an argument that is a tensor: its innermost dimension is the array's last.
Result<Bound> parse_tensor(std::string_view flag) {
    INGOT_ASSIGN(Bound bound, parse_buffer(flag));
    std::vector<int32_t> extents;
    for (size_t i = bound.array.shape.size(); i-- > 0;) {
        if (bound.array.shape[i] > size_t(INT32_MAX)) {
            return fail(ErrorKind::kInvalidArgument, "'{}': a dimension of {}, at most {} accepted", flag,
                        bound.array.shape[i], INT32_MAX);
        }
        extents.push_back(int32_t(bound.array.shape[i]));
    }
    bound.record = metal::tensor_argument(bound.memory.get(), extents, metal::dense_strides(extents));
    return bound;
}

// Errors: a slot that two flags bind.
Result<void> bind_buffers(std::vector<Bound>& bound, metal::Launch& launch) {
    std::array<bool, metal::kNumBufferSlots> taken{};
    for (Bound& b : bound) {
        if (taken[b.slot]) {
            return fail(
                ErrorKind::kInvalidArgument,
                "buffer slot {} is bound twice; --buffer, --tensor, --function-table and --bytes share "
                "the slots",
                b.slot);
        }
        taken[b.slot] = true;
        const bool is_array = b.record.empty();
        launch.buffers[b.slot] = {is_array ? b.memory.get() : b.record.data(),
                                  is_array ? b.array.data.size() : b.record.size()};
    }
    return {};
}

Result<metal::Launch> make_launch(const LaunchFlags& flags) {
    metal::Launch launch;
    INGOT_ASSIGN(launch.group_threads, parse_size(flags.threads, "--threads"));
    if (!flags.grid_threads.empty()) {
        INGOT_ASSIGN(launch.grid_threads, parse_size(flags.grid_threads, "--grid-threads"));
    } else {
        INGOT_ASSIGN(const metal::Size3 groups, parse_size(flags.grid, "--grid"));
        const metal::Size3& t = launch.group_threads;
        for (const uint64_t size :
             {uint64_t{groups.x} * t.x, uint64_t{groups.y} * t.y, uint64_t{groups.z} * t.z}) {
            if (size <= UINT32_MAX) continue;
            return fail(ErrorKind::kInvalidArgument,
                        "a grid of {} threads in one direction, at most {} accepted", size, UINT32_MAX);
        }
        launch.grid_threads = {groups.x * t.x, groups.y * t.y, groups.z * t.z};
    }
    for (const std::string& flag : flags.threadgroup) {
        INGOT_ASSIGN(const auto slot_and_rest, split_slot(flag, metal::kNumThreadgroupSlots));
        uint32_t& bytes = launch.threadgroup_bytes[slot_and_rest.first];
        if (bytes != 0) {
            return fail(ErrorKind::kInvalidArgument, "threadgroup slot {} is given twice",
                        slot_and_rest.first);
        }
        INGOT_ASSIGN(bytes, to_u32(slot_and_rest.second, flag));
        if (bytes == 0 || bytes % 16 != 0) {
            return fail(ErrorKind::kInvalidArgument, "'{}': a multiple of 16 bytes is accepted", flag);
        }
    }
    return launch;
}

// SLOT=NAME,NAME...
Result<Bound> parse_function_table(std::string_view flag, const KernelModule& module) {
    INGOT_ASSIGN(const auto slot_and_rest, split_slot(flag, metal::kNumBufferSlots));
    if (!module.source) {
        return fail(ErrorKind::kUnsupported, "'{}': only Metal source has visible functions here", flag);
    }
    Bound bound{.slot = slot_and_rest.first};
    INGOT_ASSIGN(bound.record, module.source->function_table(split(slot_and_rest.second, ',')));
    return bound;
}

Result<std::vector<Bound>> parse_bindings(const LaunchFlags& flags, const KernelModule& module) {
    std::vector<Bound> bound;
    for (const std::string& flag : flags.function_tables) {
        INGOT_ASSIGN(Bound table, parse_function_table(flag, module));
        bound.push_back(std::move(table));
    }
    for (const std::string& flag : flags.buffers) {
        INGOT_ASSIGN(Bound buffer, parse_buffer(flag));
        bound.push_back(std::move(buffer));
    }
    for (const std::string& flag : flags.tensors) {
        INGOT_ASSIGN(Bound tensor, parse_tensor(flag));
        bound.push_back(std::move(tensor));
    }
    for (const std::string& flag : flags.bytes) {
        INGOT_ASSIGN(Bound value, parse_bytes(flag));
        bound.push_back(std::move(value));
    }
    return bound;
}

// A flag that the kernel has no use for is a mistake.
Result<void> check_slots(const metal::KernelInfo& info, const PreparedLaunch& prepared) {
    for (const Bound& bound : prepared.bound) {
        if (metal::takes_buffer(info, bound.slot)) continue;
        return fail(ErrorKind::kInvalidArgument,
                    "kernel '{}' has no buffer({}); `ingot metal list` shows what it takes", info.name,
                    bound.slot);
    }
    for (uint32_t slot = 0; slot < metal::kNumThreadgroupSlots; ++slot) {
        if (prepared.launch.threadgroup_bytes[slot] == 0 || metal::takes_threadgroup_memory(info, slot))
            continue;
        return fail(ErrorKind::kInvalidArgument,
                    "kernel '{}' has no threadgroup({}); `ingot metal list` shows what it takes", info.name,
                    slot);
    }
    return {};
}

Result<void> check_constants(const metal::KernelInfo& info, const metal::Constants& values) {
    std::vector<std::string> known;
    for (const metal::FunctionConstant& constant : info.constants)
        known.push_back(fmt::format("{} (index {})", constant.name, constant.index));
    const auto unknown = [&](const std::string& key) {
        return fail(ErrorKind::kInvalidArgument, "kernel '{}' uses no function constant {}; it uses {}",
                    info.name, key, known.empty() ? "none" : fmt::format("{}", fmt::join(known, ", ")));
    };
    for (const auto& [index, value] : values.by_index) {
        const auto found = std::ranges::find(info.constants, index, &metal::FunctionConstant::index);
        if (found == info.constants.end()) return unknown(std::to_string(index));
    }
    for (const auto& [name, value] : values.by_name) {
        const auto found = std::ranges::find(info.constants, name, &metal::FunctionConstant::name);
        if (found == info.constants.end()) return unknown(fmt::format("'{}'", name));
    }
    return {};
}

// Of arguments that a constant guards, only the kernel knows whether they are there.
Result<void> require_memory(const metal::KernelInfo& info, const metal::Launch& launch) {
    std::vector<std::string> missing;
    for (const metal::Argument& argument : info.arguments) {
        if (argument.unused || argument.guarded) continue;
        if (argument.kind == metal::ArgumentKind::kThreadgroup &&
            launch.threadgroup_bytes[argument.slot] == 0)
            missing.push_back(fmt::format("threadgroup({}) '{}'", argument.slot, argument.name));
        if (metal::is_buffer(argument) && launch.buffers[argument.slot].address == nullptr)
            missing.push_back(fmt::format("buffer({}) '{}'", argument.slot, argument.name));
    }
    if (missing.empty()) return {};
    return fail(ErrorKind::kInvalidArgument,
                "nothing is bound to {} of kernel '{}'; --buffer, --bytes, --tensor, --function-table and "
                "--threadgroup bind",
                fmt::join(missing, ", "), info.name);
}

}  // namespace

Result<metal::CooperativeLayout> parse_cooperative_layout(std::string_view name) {
    if (name == "nax") return metal::CooperativeLayout::kNax;
    if (name == "rowmajor") return metal::CooperativeLayout::kRowMajor;
    if (name == "scrambled") return metal::CooperativeLayout::kScrambled;
    return fail(ErrorKind::kInvalidArgument, "no layout '{}'; there are nax, rowmajor, scrambled", name);
}

Result<PreparedLaunch> prepare_launch(const LaunchFlags& flags, bool instrument) {
    PreparedLaunch prepared;
    INGOT_ASSIGN(const KernelModule module, load_kernel(flags.file, flags.kernel, flags.source));
    prepared.name = module.name;
    INGOT_ASSIGN(prepared.bound, parse_bindings(flags, module));
    INGOT_ASSIGN(prepared.launch, make_launch(flags));
    INGOT_TRY(bind_buffers(prepared.bound, prepared.launch));
    metal::CompileOptions options;
    INGOT_ASSIGN(options.constants, parse_constants(flags.constants));
    options.require_constants = true;
    INGOT_ASSIGN(options.layout, parse_cooperative_layout(flags.device.layout));
    // Strict kernels don't rely on lockstep.
    options.reconverge = !flags.no_reconvergence && !flags.source.strict;
    options.isolate = module.compiled.empty() && !flags.trust;  // source was compiled here
    options.use_cache = !flags.no_cache;
    options.instrument = instrument;
    options.watch_overflow = flags.watch_overflow;
    INGOT_ASSIGN(metal::Compiler * compiler, metal::compiler());
    if (!flags.constants.empty() && !flags.may_bind_more) {
        INGOT_ASSIGN(const metal::KernelInfo info, compiler->inspect(module.bitcode, module.name, options));
        INGOT_TRY(check_constants(info, options.constants));
    }
    INGOT_ASSIGN(prepared.kernel, compiler->compile(module.bitcode, module.name, options));
    if (!flags.may_bind_more) INGOT_TRY(check_slots(prepared.kernel->info, prepared));
    // Checkers say more of what isn't bound.
    if (!instrument) INGOT_TRY(require_memory(prepared.kernel->info, prepared.launch));
    INGOT_ASSIGN(prepared.launch.executor, chosen_executor(flags.device));
    return prepared;
}

void set_deadline(metal::Launch& launch, double seconds) {
    launch.deadline = metal::deadline_after(seconds);
}

Result<void> check_status(const metal::LaunchReport& report) {
    if (report.status == metal::LaunchStatus::kDone) return {};
    return fail(
        report.status == metal::LaunchStatus::kTimeLimit ? ErrorKind::kLimit : ErrorKind::kInvalidArgument,
        "{}", report.message);
}

void take_back(std::vector<Bound>& bound) {
    for (Bound& b : bound) {
        if (b.memory != nullptr) std::copy_n(b.memory.get(), b.array.data.size(), b.array.data.data());
    }
}

Result<void> write_results(const std::vector<Bound>& bound) {
    for (const Bound& b : bound) {
        if (!b.result_path.empty()) INGOT_TRY(write_npy(b.result_path, b.array));
    }
    return {};
}

// Empty, or what is wrong.
static std::string more_than_zero(const std::string& text) {
    double number = 0;
    const auto parsed = std::from_chars(text.data(), text.data() + text.size(), number);
    const bool is_more = parsed.ec == std::errc{} && number > 0;
    return is_more ? "" : fmt::format("'{}': a number above 0 is accepted", text);
}

void add_device_flags(CLI::App& app, DeviceFlags& flags) {
    app.add_option("--time-limit", flags.time_limit_seconds, "Seconds a run may take")
        ->check(more_than_zero)
        ->capture_default_str();
    app.add_option("--layout", flags.layout, "Cooperative tensors: nax, rowmajor or scrambled")
        ->option_text(fmt::format("LAYOUT [{}]", flags.layout));
    app.add_option("--executor", flags.executor,
                   "fibers, vector or auto (default: the environment's INGOT_EXECUTOR, or auto)")
        ->option_text("EXECUTOR");
}

Result<metal::ExecutorKind> chosen_executor(const DeviceFlags& flags) {
    if (flags.executor.empty()) return metal::default_executor();
    return metal::executor_kind(flags.executor);
}

void add_launch_flags(CLI::App& app, LaunchFlags& flags) {
    app.add_option("--kernel", flags.kernel, "Its name; may be left out if the file holds one kernel");
    auto* grid = app.add_option("--grid", flags.grid, "Threadgroups: X,Y,Z");
    app.add_option("--grid-threads", flags.grid_threads, "Threads of the whole grid: X,Y,Z")->excludes(grid);
    app.add_option("--threads", flags.threads, "Threads of a group: X,Y,Z");
    app.add_option("--buffer", flags.buffers,
                   "SLOT=FILE.npy, zeros:TYPE, randn:TYPE[:seed=N], out:TYPE, out:FILE:TYPE or inout:IN:OUT; "
                   "TYPE is f32[64,64]");
    app.add_option(
        "--tensor", flags.tensors,
        "As --buffer, where the kernel takes a tensor; its innermost dimension is the array's last");
    app.add_option("--function-table", flags.function_tables,
                   "SLOT=NAME[,NAME...]: [[visible]] functions, where the kernel takes a table of them");
    app.add_option("--bytes", flags.bytes, "SLOT=TYPE:VALUE[,VALUE...], e.g. 4=i32:1024");
    app.add_option("--threadgroup", flags.threadgroup, "SLOT=BYTES of threadgroup memory");
    app.add_option("--constant", flags.constants, "INDEX=TYPE:VALUE or NAME=TYPE:VALUE, e.g. 200=bool:true");
    add_device_flags(app, flags.device);
    app.add_flag("--no-reconvergence", flags.no_reconvergence,
                 "Don't let lanes meet around divergent writes");
    app.add_flag("--no-cache", flags.no_cache, "Compile, even if the kernel is on disk");
    add_trust_flag(app, flags.trust);
    add_source_flags(app, flags.source);
}

}  // namespace ingot::cli
