// Kernels written as LLVM IR for tests: body, arguments and their AIR metadata.
#pragma once

#include <string>
#include <vector>

namespace ingot::metal::testing {

// A kernel @k with device buffers %b0, %b1... (ptr addrspace(1)) and index arguments of type i32 named like
// their kinds, e.g. "thread_position_in_grid" -> %thread_position_in_grid. `extra` goes before the kernel
// (declarations).
inline std::string kernel_ir(int num_buffers, const std::vector<std::string>& kinds, const std::string& body,
                             const std::string& extra = "") {
    std::string parameters, arguments, nodes;
    int position = 0, next_node = 2;
    const auto add = [&](const std::string& parameter, const std::string& node) {
        const std::string separator = position == 0 ? "" : ", ";
        parameters += separator + parameter;
        arguments += separator + "!" + std::to_string(next_node);
        nodes += "!" + std::to_string(next_node++) + " = !{i32 " + std::to_string(position++) + ", " + node +
                 "}\n";
    };
    for (int i = 0; i < num_buffers; ++i) {
        const std::string n = std::to_string(i);
        add("ptr addrspace(1) %b" + n,
            "!\"air.buffer\", !\"air.location_index\", i32 " + n +
                ", i32 1, !\"air.read_write\", !\"air.address_space\", i32 1, "
                "!\"air.arg_type_size\", i32 4, !\"air.arg_type_align_size\", i32 4, "
                "!\"air.arg_type_name\", !\"float\", !\"air.arg_name\", !\"b" +
                n + "\"");
    }
    for (const std::string& kind : kinds) {
        add("i32 %" + kind,
            "!\"air." + kind + "\", !\"air.arg_type_name\", !\"uint\", !\"air.arg_name\", !\"i\"");
    }
    return extra + "define void @k(" + parameters + ") {\n" + body +
           "\n}\n!air.kernel = !{!0}\n!0 = !{ptr @k, !1, !" + std::to_string(next_node) + "}\n!1 = !{}\n" +
           nodes + "!" + std::to_string(next_node) + " = !{" + arguments + "}\n";
}

// For `extra`: a function that calls itself, i32 @fib(i32) with fib(0) = 0, fib(1) = 1.
inline constexpr const char* kFibonacci =
    "define internal i32 @fib(i32 %n) {\n"
    "%small = icmp ult i32 %n, 2\nbr i1 %small, label %done, label %more\n"
    "done:\nret i32 %n\n"
    "more:\n%n1 = sub i32 %n, 1\n%n2 = sub i32 %n, 2\n"
    "%a = call i32 @fib(i32 %n1)\n%b = call i32 @fib(i32 %n2)\n%s = add i32 %a, %b\nret i32 %s\n}\n";

}  // namespace ingot::metal::testing
