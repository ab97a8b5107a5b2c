// Programs that each have one realization to be had or refused, and what says that it was: run by the
// interpreter and on the device with the option on and off.
#pragma once

#include <string>
#include <vector>

#include "tile/api/compile.h"

namespace ingot::tile::testing {

struct RealizationCase {
    std::string name, target;
    bool PlannerOptions::* option;  // that makes the difference
    std::string text;
    std::string noted;    // by explain() with the option on: it was done
    std::string refused;  // or this is why not; one of the two is empty
};

inline void PrintTo(const RealizationCase& c, std::ostream* out) {
    *out << c.name;
}

inline std::string with_body(const std::string& declarations, const std::string& body) {
    return "kernel r {\n" + declarations + body + "}\n";
}

// --- epilogues: Cs is the sum, `rest` what follows

inline std::string epilogue(const std::string& rest) {
    return with_body(R"(  in A: f32[32, 64]
  in B: f32[64, 32]
  in bias: f32[32]
  in skip: f32[40, 32]
  inout Y: f32[32, 32]
  out C: f32[40, 32]
  out E: f32[32, 32]
  threads 128
  shared As: f32[32, 32]
  shared Bs: f32[32, 32]
  shared Cs: f32[32, 32]
  shared Ds: f32[32, 32]
  shared Es: f32[32, 32]
  shared Hs: f16[32, 32]
)",
                     R"(  fill Es = 0.5
  fill Hs = f16(0.5)
  fill Cs = 0.0
  for step < 2 {
    copy As = A[:, step * 32 : 32]
    copy Bs = B[step * 32 : 32, :]
    gemm Cs += As @ Bs
  }
)" + rest + "  fill Y = 1.0\n");
}

inline std::string producer(const std::string& value,
                            const std::string& then = "  copy C[8 : 32, :] = Ds\n") {
    return epilogue("  parallel i < 32, j < 32 {\n    Ds[i, j] = " + value + "\n  }\n" + then);
}

inline std::vector<RealizationCase> epilogue_cases() {
    constexpr auto kOption = &PlannerOptions::fuse_matrix_epilogues;
    std::vector<RealizationCase> out;
    const auto fused = [&](std::string name, std::string text) {
        out.push_back(
            {"fused_" + name, "metal-m4", kOption, std::move(text), "Ds is computed where it is used", ""});
    };
    const auto kept = [&](std::string name, std::string text, std::string why) {
        out.push_back({"kept_" + name, "metal-m4", kOption, std::move(text), "",
                       "Ds fused into its consumers: " + std::move(why)});
    };
    fused("clamp", producer("min(max(Cs[i, j], -1.0), 1.0)"));
    fused("polynomial", producer("Cs[i, j] * Cs[i, j] * 0.25 - Cs[i, j] + 3.0"));
    fused("tanh_gelu",
          producer("0.5 * Cs[i, j] * (1.0 + tanh(0.7978845608 * (Cs[i, j] + 0.044715 * Cs[i, j] * "
                   "Cs[i, j] * Cs[i, j])))"));
    fused("bias_and_residual", producer("max(Cs[i, j] + bias[j], 0.0) + skip[i + 8, j]"));
    fused("into_a_loop_that_stores",
          producer("Cs[i, j] + bias[j]",
                   "  parallel i < 32, j < 32 {\n    E[i, j] = Ds[i, j] * skip[i, j]\n  }\n"));
    fused("as_a_dag", producer("tanh(Cs[i, j])",
                               "  parallel i < 32, j < 32 {\n    Es[i, j] = Ds[i, j] * Cs[i, j]\n  }\n"
                               "  copy C[8 : 32, :] = Es\n"));
    kept("transposed", producer("Cs[j, i]"), "of Cs, an element is used away from its own place");
    kept("neighbour", producer("Cs[i, (j + 1) % 32]"), "of Cs, an element is used away from its own place");
    kept("transposed_use", producer("Cs[i, j]", "  parallel i < 32, j < 32 {\n    E[i, j] = Ds[j, i]\n  }\n"),
         "an element is used away from its own place");
    kept("extra_operand", producer("Cs[i, j] + Es[i, j]"), "Es is no accumulator and isn't made of one");
    kept("operand_that_may_be_written", producer("Cs[i, j] + Y[i, j]"), "Y may be written");
    kept("extra_consumer",
         producer("Cs[i, j]", "  copy C[8 : 32, :] = Ds\n  copy E[0 : 16, :] = Ds[0 : 16, :]\n"),
         "copy (r.tile:");
    kept("a_sum_that_changes",
         producer("Cs[i, j] * 2.0", "  fill Cs = 1.0\n  copy C[8 : 32, :] = Ds\n  copy E = Cs\n"),
         "Cs changes before it is used");
    kept("a_part",
         epilogue("  fill Ds = 0.0\n  parallel i < 16, j < 32 {\n    Ds[i, j] = Cs[i, j]\n  }\n"
                  "  copy C[8 : 32, :] = Ds\n"),
         "");
    return out;
}

// --- staging

inline std::string staged(const std::string& depth, const std::string& steps, const std::string& copies,
                          const std::string& product = "gemm C[by * 32 : 32, :] += As @ Bs", int m = 64) {
    return with_body(
        "  in A: f32[" + std::to_string(m) + ", " + depth + "]\n  in B: f32[" + depth +
            ", 32]\n  in D: f32[" + depth + " + 16, 32]\n  inout C: f32[" + std::to_string(m) +
            ", 32]\n  grid bx < 1, by < 2\n  threads 64\n  shared As: f32[32, 16]\n  shared Bs: f32[16, 32]\n"
            "  shared Ts: f32[32, 16]\n",
        "  fill C[by * 32 : 32, :] = 0.0\n  for step < " + steps + " {\n" + copies + "    " + product +
            "\n  }\n");
}

inline std::vector<RealizationCase> staging_cases() {
    constexpr auto kOption = &PlannerOptions::bypass_staging;
    const std::string a = "    copy As = A[by * 32 : 32, step * 16 : 16]\n",
                      b = "    copy Bs = B[step * 16 : 16, :]\n";
    const std::string past = "As stays staged: its copy fills in what lies past the edge of A";
    const auto done = [&](std::string name, std::string text, std::string noted,
                          std::string target = "metal-m5") {
        return RealizationCase{"read_" + name,  std::move(target), kOption,
                               std::move(text), std::move(noted),  ""};
    };
    const auto kept = [&](std::string name, std::string text, std::string why) {
        return RealizationCase{"staged_" + name, "metal-m5", kOption, std::move(text), std::move(why), ""};
    };
    return {
        {"bounded_in_k", "metal-m5", &PlannerOptions::bounded_views, staged("45", "3", a + b),
         "the loop over K is one product", ""},
        done("with_a_short_last_step", staged("45", "3", a + b), "the loop over K is one product"),
        done("with_a_step_past_the_end", staged("45", "4", a + b), "the loop over K is one product"),
        done("with_rows_past_the_edge", staged("45", "3", a + b, "gemm C[by * 32 : 32, :] += As @ Bs", 50),
             "the loop over K is one product"),
        done("with_a_simdgroup_that_has_no_rows",
             staged("45", "3", a + b, "gemm C[by * 32 : 32, :] += As @ Bs", 40),
             "the loop over K is one product"),
        done("through_a_second_tile",
             staged("48", "3", "    copy Ts = A[by * 32 : 32, step * 16 : 16]\n    copy As = Ts\n" + b),
             "Ts only handed A on to As"),
        done("through_a_second_tile_that_fills",
             staged("45", "3", "    copy Ts = A[by * 32 : 32, step * 16 : 16]\n    copy As = Ts\n" + b),
             "the loop over K is one product"),
        done("through_a_second_tile_without_tensors",
             staged("45", "3", "    copy Ts = A[by * 32 : 32, step * 16 : 16]\n    copy As = Ts\n" + b),
             "Ts only handed A on to As", "metal-m4"),
        kept("filled_with_ones",
             staged("45", "3", "    copy As = A[by * 32 : 32, step * 16 : 16] fill 1.0\n" + b),
             past + " with another number than 0"),
        kept("padded_on_one_side", staged("45", "3", a + "    copy Bs = D[step * 16 : 16, :]\n"),
             past + ": K goes past an operand's end"),
        kept("with_steps_that_dont_reach_the_end",
             staged("45", "3",
                    "    copy As = A[by * 32 : 32, step * 16 + 5 : 16]\n    copy Bs = B[step * 16 + 5 : 16, "
                    ":]\n"),
             past + ": the steps of K aren't one product"),
        kept("with_something_else_in_the_loop",
             staged("45", "3", a + b, "gemm C[by * 32 : 32, :] += As @ Bs\n    fill Ts = 1.0"),
             past + ": the steps of K aren't one product"),
    };
}

// --- overwriting

inline std::string overwritten(const std::string& fill, const std::string& between,
                               const std::string& depth) {
    return with_body("  in A: f32[32, " + depth + "]\n  in B: f32[" + depth +
                         ", 32]\n  inout C: f32[32, 32]\n  out E: f32[32, 32]\n  threads 32\n",
                     "  fill C = " + fill + "\n" + between + "  fill E = 1.0\n");
}

inline std::vector<RealizationCase> overwrite_cases() {
    constexpr auto kOption = &PlannerOptions::overwrite_accumulators;
    const auto done = [&](std::string name, std::string text, std::string noted) {
        return RealizationCase{"overwrites_" + name, "metal-m5",       kOption,
                               std::move(text),      std::move(noted), ""};
    };
    const auto kept = [&](std::string name, std::string text, std::string why) {
        return RealizationCase{"adds_" + name,  "metal-m5", kOption,
                               std::move(text), "",         "overwriting the accumulator: " + std::move(why)};
    };
    const std::string gemm = "  gemm C += A @ B\n";
    return {
        done("after_a_zero", overwritten("0.0", gemm, "16"), "nothing is added: C is 0 before"),
        done("after_unrelated_work", overwritten("0.0", "  fill E = 3.0\n" + gemm, "16"),
             "nothing is added: C is 0 before"),
        done("in_a_loop_of_one", overwritten("0.0", "  for step < 1 {\n  " + gemm + "  }\n", "16"),
             "nothing is added: C is 0 before"),
        kept("to_minus_zero", overwritten("-0.0", gemm, "16"), "it starts as -0, which a sum keeps"),
        kept("to_one", overwritten("1.0", gemm, "16"), "it starts as 1"),
        kept("in_two_steps", overwritten("0.0", "  for step < 2 {\n  " + gemm + "  }\n", "16"),
             "its product runs more than once, or maybe never"),
        kept("what_a_loop_looks_at",
             overwritten("0.0",
                         "  for step < 1 {\n  " + gemm +
                             "    parallel i < 32, j < 32 {\n      C[i, j] = C[i, j] + 1.0\n    }\n  }\n",
                         "16"),
             "store ("),
    };
}

// --- element loops that are products

inline std::string summed(const std::string& axes, const std::string& loop, const std::string& rest) {
    return with_body(
        "  in A: f16[2, 40, 70]\n  in At: f16[70, 40]\n  in B: f16[70, 64]\n  in bias: f32[64]\n"
        "  inout Y: f16[70, 64]\n  inout C: f32[2, 40, 64]\n"
        "  grid bx < 2, by < 2, bz < 2\n  threads 64\n",
        "  parallel " + axes + " {\n" + loop + rest + "  }\n");
}

inline std::vector<RealizationCase> product_cases() {
    constexpr auto kOption = &PlannerOptions::map_gpu_cooperative_programs;
    const auto sum = [](const std::string& term, const std::string& start = "0.0",
                        const std::string& extent = "70") {
        return "    for k < " + extent + " carry s: f32 = " + start + " -> t {\n      yield s + " + term +
               "\n    }\n";
    };
    const std::string axes = "i < 32, j < 32";
    const std::string a = "f32(A[bz, by * 32 + i, k])", b = "f32(B[k, bx * 32 + j])";
    const std::string store = "    C[bz, by * 32 + i, bx * 32 + j] = t\n";
    const auto done = [&](std::string name, std::string text, std::string target = "metal-m4") {
        return RealizationCase{"product_" + name,
                               std::move(target),
                               kOption,
                               std::move(text),
                               "the element loop sums a matrix product",
                               ""};
    };
    const auto kept = [&](std::string name, std::string text, std::string why) {
        return RealizationCase{
            "loop_" + name,  "metal-m4", kOption,
            std::move(text), "",         "one matrix product for the element loop: " + std::move(why)};
    };
    return {
        done("plain", summed(axes, sum(a + " * " + b), store)),
        done("on_tensors", summed(axes, sum(a + " * " + b), store), "metal-m5"),
        done("factors_the_other_way", summed(axes, sum(b + " * " + a), store)),
        done("transposed", summed(axes, sum("f32(At[k, by * 32 + i]) * " + b), store)),
        done(
            "with_an_epilogue",
            summed(axes, sum(a + " * " + b),
                   "    let u = t + bias[bx * 32 + j]\n    C[bz, by * 32 + i, bx * 32 + j] = max(u, 0.0)\n")),
        done("with_an_axis_of_one",
             summed("z < 1, i < 32, j < 32", sum("f32(A[bz + z, by * 32 + i, k]) * " + b),
                    "    C[bz + z, by * 32 + i, bx * 32 + j] = t\n")),
        done("with_what_was_there",
             summed(axes, sum(a + " * " + b),
                    "    C[bz, by * 32 + i, bx * 32 + j] = C[bz, by * 32 + i, bx * 32 + j] * 0.5 + t\n")),
        kept("with_three_axes",
             summed("z < 2, i < 16, j < 32", sum("f32(A[bz, by * 32 + z * 16 + i, k]) * " + b),
                    "    C[bz, by * 32 + z * 16 + i, bx * 32 + j] = t\n"),
             "it has 3 axes; a product has two"),
        kept("of_odd_extents", summed("i < 20, j < 32", sum(a + " * " + b), store),
             "its extents aren't two multiples of 8"),
        kept("that_starts_at_one", summed(axes, sum(a + " * " + b, "1.0"), store),
             "its sum doesn't start as an f32 0"),
        kept("that_rounds_its_products",
             summed(axes, sum("f32(A[bz, by * 32 + i, k] * B[k, bx * 32 + j])"), store),
             "its sum isn't of f32 products"),
        kept("of_what_may_be_written", summed(axes, sum(a + " * f32(Y[k, bx * 32 + j])"), store),
             "Y may be written"),
        kept("of_two_rows", summed(axes, sum(a + " * f32(At[k, by * 32 + i])"), store),
             "both factors go by row"),
        kept("of_a_diagonal", summed(axes, sum(a + " * f32(B[k, bx * 32 + j + i])"), store),
             "an index of B isn't an axis and an offset"),
        kept("that_prints", summed(axes, sum(a + " * " + b), store + "    print \"t\", t\n"),
             "its print stays in order"),
        kept("as_long_as_its_row", summed(axes, sum(a + " * " + b, "0.0", "i"), store),
             "its sum's length isn't known at launch"),
        kept("that_stores_first",
             summed(axes, "    C[bz, by * 32 + i, bx * 32 + j] = 2.0\n" + sum(a + " * " + b),
                    "    C[bz, by * 32 + i, bx * 32 + j] = t\n"),
             "a store stands before the sum"),
    };
}

// --- simdgroups that don't wait

inline std::vector<RealizationCase> independence_cases() {
    constexpr auto kOption = &PlannerOptions::elide_independent_subgroup_barriers;
    const std::string declarations = R"(  in A: f32[64, 96]
  in B: f32[96, 64]
  inout Y: f32[64, 64]
  inout C: f32[64, 64]
  threads 64
)";
    const std::string loop =
        "  for step < 3 {\n    gemm C += A[:, step * 32 : 32] @ B[step * 32 : 32, :]\n  }\n";
    const std::string first = "  gemm C = A[:, 32 : 32] @ B[32 : 32, :]\n";
    const std::string why =
        "barriers between simdgroups left out: the group isn't products of one part of a tensor alone";
    return {
        {"independent_products", "metal-m5", kOption, with_body(declarations, first + loop),
         "no simdgroup has to wait for another", ""},
        {"waits_for_a_fill", "metal-m5", kOption, with_body(declarations, "  fill C = 2.0\n" + loop), "",
         why},
        {"waits_for_a_consumer", "metal-m5", kOption,
         with_body(declarations, first + loop + "  copy Y = C\n"), "", why},
        {"waits_for_a_written_operand", "metal-m5", kOption,
         with_body(declarations, "  gemm C = A[:, 0 : 64] @ Y\n  gemm C += A[:, 0 : 64] @ Y\n"), "", why},
        {"waits_for_the_authors_barrier", "metal-m5", kOption,
         with_body(declarations, first + "  barrier\n" + loop), "", why},
    };
}

inline std::vector<RealizationCase> realization_cases() {
    std::vector<RealizationCase> out;
    for (auto part : {epilogue_cases, staging_cases, overwrite_cases, product_cases, independence_cases})
        for (RealizationCase& c : part()) out.push_back(std::move(c));
    return out;
}

}  // namespace ingot::tile::testing
