// Loads and stores. Lanes that follow each other in memory share wide accesses, several elements a lane are
// taken apart and put together by shuffles; everything else goes lane by lane. An idle lane touches nothing:
// masked accesses where the machine has them for the element's size, the first active lane's address or a
// loop over active lanes where it hasn't.
#include "metal/jit/lanes/vectoriser.h"

namespace ingot::metal::jit::lanes {
namespace {

// The machine masks loads and stores of elements of so many bytes.
bool can_mask(uint64_t size_bytes) {
    return size_bytes >= 4;
}

bool is_power_of_two(uint64_t value) {
    return value != 0 && (value & (value - 1)) == 0;
}

// Elements are moved in units of a word where they fill some.
constexpr uint64_t kWordBytes = 4;
constexpr unsigned kFewWords = 4;

uint64_t unit_bytes(uint64_t element_bytes, unsigned count) {
    return element_bytes < kWordBytes && element_bytes * count % kWordBytes == 0 ? kWordBytes : element_bytes;
}

}  // namespace

Vectoriser::Access Vectoriser::access(llvm::Value* pointer, llvm::Type* type, llvm::Align align) {
    const auto types = leaves(type);
    const uint64_t size = layout_.getTypeStoreSize(types[0]).getFixedValue();
    return {.pointer = pointer,
            .shape = shape(pointer),
            .element = types[0],
            .count = unsigned(types.size()),
            .size = size,
            .align = std::min(align, llvm::Align(llvm::bit_floor(size)))};
}

bool Vectoriser::is_contiguous(const Access& a) const {
    return a.shape.kind == ShapeKind::kStrided && a.shape.stride == int64_t(a.size * a.count) &&
           is_power_of_two(a.count) && a.element->getPrimitiveSizeInBits() == 8 * a.size;
}

Parts Vectoriser::either(llvm::Value* condition, llvm::function_ref<Parts()> yes,
                         llvm::function_ref<Parts()> no) {
    llvm::BasicBlock *then = lanes_.new_block("then"), *otherwise = lanes_.new_block("else"),
                     *after = lanes_.new_block("after");
    b().CreateCondBr(condition, then, otherwise);
    b().SetInsertPoint(then);
    const Parts first = yes();
    llvm::BasicBlock* then_end = b().GetInsertBlock();
    b().CreateBr(after);
    b().SetInsertPoint(otherwise);
    const Parts second = no();
    llvm::BasicBlock* otherwise_end = b().GetInsertBlock();
    b().CreateBr(after);
    b().SetInsertPoint(after);
    Parts result;
    for (size_t i = 0; i < first.size(); ++i) {
        llvm::PHINode* phi = b().CreatePHI(first[i]->getType(), 2);
        phi->addIncoming(first[i], then_end);
        phi->addIncoming(second[i], otherwise_end);
        result.push_back(phi);
    }
    return result;
}

// Lanes' masks for unit number `unit` of 32 consecutive elements, `count` of which belong to a lane.
llvm::Value* Vectoriser::unit_mask(unsigned unit, unsigned count) {
    if (count == 1 || LaneBuilder::is_all_lanes(mask_)) return mask_;
    return lanes_.shuffle(mask_, mask_, [&](unsigned i) { return int((unit * kLanes + i) / count); });
}

Parts Vectoriser::load_contiguous(const Access& a) {
    llvm::Value* base = scalar(a.pointer);
    auto* type = lanes_.wide(a.element);
    Parts units;
    for (unsigned unit = 0; unit < a.count; ++unit) {
        llvm::Value* from = b().CreateConstGEP1_64(a.element, base, uint64_t(unit) * kLanes);
        llvm::Value* mask = unit_mask(unit, a.count);
        if (LaneBuilder::is_all_lanes(mask)) {
            units.push_back(b().CreateAlignedLoad(type, from, a.align));
        } else {
            units.push_back(b().CreateMaskedLoad(type, from, a.align, mask));
        }
    }
    Parts result;
    for (unsigned i = 0; i < a.count; ++i) result.push_back(lanes_.deinterleave(units, i));
    return result;
}

// Elements that fill words are moved as words: what is only copied is never taken apart. Many a lane go
// through a call, for trees of shuffles over all of them would cost more, above all in the code generator,
// whose time explodes; in a large kernel that saves time for few too.
bool Vectoriser::goes_by_words(const Access& a) const {
    const bool packed = a.size < kWordBytes && a.size * a.count % kWordBytes == 0;
    return (is_large_ || packed || a.count > kFewWords || !is_power_of_two(a.count)) &&
           a.element->getPrimitiveSizeInBits() == 8 * a.size && (a.size <= kWordBytes || is_large_) &&
           !a.element->isPointerTy();
}

// The address of a lane's elements; `pointers` (null for an affine address) is made once for all lanes.
llvm::Value* Vectoriser::address_of(const Access& a, llvm::Value* pointers, uint64_t lane) {
    if (pointers != nullptr) return b().CreateExtractElement(pointers, lane);
    return b().CreateConstGEP1_64(b().getInt8Ty(), scalar(a.pointer),
                                  uint64_t(a.shape.offset(unsigned(lane))));
}

bool Vectoriser::goes_by_runtime(const Access& a) const {
    return (is_large_ || a.count > kFewWords) && a.element->getPrimitiveSizeInBits() == 8 * a.size;
}

// exec/lanes/memory.h
void Vectoriser::call_runtime_memory(const Access& a, const char* operation, llvm::Value* table,
                                     unsigned count, uint64_t size) {
    const bool strided = a.shape.kind == ShapeKind::kStrided && !a.shape.assumed;
    llvm::SmallVector<llvm::Value*, 5> arguments{table, strided ? scalar(a.pointer) : by_lane(a.pointer)};
    if (strided) arguments.push_back(b().getInt64(uint64_t(a.shape.stride)));
    arguments.append({lanes_.bits(mask_), b().getInt32(count)});
    llvm::SmallVector<llvm::Type*, 5> types;
    for (llvm::Value* argument : arguments) types.push_back(argument->getType());
    types[1] = b().getPtrTy();
    arguments[1] = b().CreateAddrSpaceCast(arguments[1], types[1]);
    const std::string name =
        fmt::format("ingot_lanes_{}{}{}", strided ? "strided_" : "", operation, 8 * size);
    auto* function = llvm::cast<llvm::Function>(
        target_.getParent()
            ->getOrInsertFunction(name, llvm::FunctionType::get(b().getVoidTy(), types, false))
            .getCallee());
    function->setDoesNotThrow();
    function->addFnAttr(llvm::Attribute::WillReturn);
    if (llvm::StringRef(operation) == "load")
        function->setMemoryEffects(llvm::MemoryEffects::readOnly() | llvm::MemoryEffects::argMemOnly());
    function->addParamAttr(0, llvm::Attribute::NoCapture);
    b().CreateCall(function, arguments);
}

Parts Vectoriser::load_by_runtime(const Access& a, llvm::Type* element, unsigned count) {
    llvm::Type* row = lanes_.wide(element);
    llvm::AllocaInst* table = lanes_.scratch(llvm::ArrayType::get(row, count));
    call_runtime_memory(a, "load", table, count, layout_.getTypeStoreSize(element).getFixedValue());
    Parts rows;
    for (unsigned i = 0; i < count; ++i)
        rows.push_back(b().CreateLoad(row, b().CreateConstGEP1_64(row, table, i)));
    lanes_.release(table);
    return rows;
}

void Vectoriser::store_by_runtime(const Access& a, const Parts& values) {
    llvm::Type* row = values[0]->getType();
    const unsigned count = unsigned(values.size());
    llvm::AllocaInst* table = lanes_.scratch(llvm::ArrayType::get(row, count));
    for (unsigned i = 0; i < count; ++i) b().CreateStore(values[i], b().CreateConstGEP1_64(row, table, i));
    call_runtime_memory(a, "store", table, count,
                        layout_.getTypeStoreSize(row->getScalarType()).getFixedValue());
    lanes_.release(table);
}

Parts Vectoriser::load_words(const Access& a, bool affine) {
    const uint64_t unit = unit_bytes(a.size, a.count);
    const unsigned per_word = unsigned(unit / a.size), count = a.count / per_word;
    const llvm::Align align = std::min(a.align, llvm::Align(unit));
    llvm::Type *word = b().getIntNTy(unsigned(8 * unit)), *row = lanes_.wide(word);
    Parts words, result;
    const Access of_words{a.pointer, a.shape, word, count, unit, align};
    if (affine && is_contiguous(of_words) && (count == 1 || stay_in_registers(count))) {
        words = load_contiguous(of_words);
    } else if (const unsigned run = affine && stay_in_registers(count) ? run_length(of_words) : 1; run > 1) {
        words = load_runs(of_words, run);
    } else if (stay_in_registers(count)) {
        words = load_whole(of_words, affine);
    } else {
        words = load_by_runtime(a, word, count);
    }
    auto* bits = lanes_.wide(b().getIntNTy(unsigned(8 * a.size)));
    for (unsigned i = 0; i < a.count; ++i) {
        llvm::Value* shifted =
            b().CreateLShr(words[i / per_word], llvm::ConstantInt::get(row, 8 * a.size * (i % per_word)));
        result.push_back(b().CreateBitCast(b().CreateTrunc(shifted, bits), lanes_.wide(a.element)));
    }
    return result;
}

void Vectoriser::store_words(const Access& a, const Parts& values, bool affine) {
    const uint64_t unit = unit_bytes(a.size, a.count);
    const unsigned per_word = unsigned(unit / a.size), count = a.count / per_word;
    const llvm::Align align = std::min(a.align, llvm::Align(unit));
    llvm::Type *word = b().getIntNTy(unsigned(8 * unit)), *row = lanes_.wide(word);
    auto* bits = lanes_.wide(b().getIntNTy(unsigned(8 * a.size)));
    Parts words(count, llvm::Constant::getNullValue(row));
    for (unsigned i = 0; i < a.count; ++i) {
        llvm::Value* value = b().CreateZExt(b().CreateBitCast(values[i], bits), row);
        value = b().CreateShl(value, llvm::ConstantInt::get(row, 8 * a.size * (i % per_word)));
        words[i / per_word] = b().CreateOr(words[i / per_word], value);
    }
    const Access of_words{a.pointer, a.shape, word, count, unit, align};
    if (affine && is_contiguous(of_words) && (count == 1 || stay_in_registers(count)))
        return store_contiguous(of_words, words);
    if (const unsigned run = affine && stay_in_registers(count) ? run_length(of_words) : 1; run > 1)
        return store_runs(of_words, words, run);
    if (stay_in_registers(count)) return store_whole(of_words, words, affine);
    store_by_runtime(a, words);
}

bool Vectoriser::stay_in_registers(unsigned words) const {
    return !is_large_ && words <= kFewWords && is_power_of_two(words);
}

// One load of all of a lane's elements for each lane; trees of shuffles sort them.
Parts Vectoriser::load_whole(const Access& a, bool affine) {
    llvm::Value* pointers = affine ? nullptr : vector(a.pointer);
    auto* type = llvm::FixedVectorType::get(a.element, a.count);
    const unsigned lanes = kLanes / a.count;
    Parts units, result;
    for (unsigned unit = 0; unit < a.count; ++unit) {
        Parts pieces;
        for (unsigned lane = unit * lanes; lane < (unit + 1) * lanes; ++lane) {
            pieces.push_back(b().CreateAlignedLoad(type, address_of(a, pointers, lane), a.align));
        }
        units.push_back(lanes_.concatenate(pieces));
    }
    for (unsigned i = 0; i < a.count; ++i) result.push_back(lanes_.deinterleave(units, i));
    return result;
}

void Vectoriser::store_whole(const Access& a, const Parts& values, bool affine) {
    llvm::Value* pointers = affine ? nullptr : vector(a.pointer);
    const Parts units = lanes_.interleave(values);
    for (unsigned lane = 0; lane < kLanes; ++lane) {
        llvm::SmallVector<int, kLanes> some;
        for (unsigned i = 0; i < a.count; ++i) some.push_back(int(lane * a.count % kLanes + i));
        llvm::Value* own = b().CreateShuffleVector(units[lane * a.count / kLanes], some);
        b().CreateAlignedStore(own, address_of(a, pointers, lane), a.align);
    }
}

// All lanes are active.
Parts Vectoriser::load_apart(const Access& a, bool affine) {
    if (goes_by_words(a)) return load_words(a, affine);
    if (a.count > 1 && is_power_of_two(a.count) && a.count <= kLanes &&
        a.element->getPrimitiveSizeInBits() == 8 * a.size) {
        return load_whole(a, affine);
    }
    llvm::Value* pointers = affine ? nullptr : vector(a.pointer);
    Parts result(a.count, llvm::PoisonValue::get(lanes_.wide(a.element)));
    for (uint64_t lane = 0; lane < kLanes; ++lane) {
        llvm::Value* from = address_of(a, pointers, lane);
        for (unsigned i = 0; i < a.count; ++i) {
            llvm::Value* element =
                b().CreateAlignedLoad(a.element, b().CreateConstGEP1_64(a.element, from, i), a.align);
            result[i] = b().CreateInsertElement(result[i], element, lane);
        }
    }
    return result;
}

unsigned Vectoriser::run_length(const Access& a) const {
    const int64_t step = int64_t(a.size * a.count);
    if (!is_power_of_two(a.count) || a.element->getPrimitiveSizeInBits() != 8 * a.size) return 1;
    unsigned run = kLanes / 2;
    for (; run > 1; run /= 2) {
        bool follows = true;
        for (unsigned lane = 1; lane < kLanes; ++lane) {
            if (lane % run != 0) follows &= a.shape.offset(lane) == a.shape.offset(lane - 1) + step;
        }
        if (follows) break;
    }
    return run;
}

// One load for each run of lanes.
Parts Vectoriser::load_runs(const Access& a, unsigned run) {
    llvm::Value* base = scalar(a.pointer);
    auto* type = llvm::FixedVectorType::get(a.element, run * a.count);
    Parts units;
    const unsigned lanes_of_unit = kLanes / a.count;
    for (unsigned first = 0; first < kLanes; first += std::max(run, lanes_of_unit)) {
        Parts pieces;
        for (unsigned lane = first; lane < first + std::max(run, lanes_of_unit); lane += run) {
            llvm::Value* from = b().CreateConstGEP1_64(b().getInt8Ty(), base, uint64_t(a.shape.offset(lane)));
            pieces.push_back(b().CreateAlignedLoad(type, from, a.align));
        }
        llvm::Value* whole = lanes_.concatenate(pieces);
        // A run may be longer than a unit.
        for (unsigned unit = 0; unit < std::max(run, lanes_of_unit) / lanes_of_unit; ++unit) {
            llvm::SmallVector<int, kLanes> some;
            for (unsigned i = 0; i < kLanes; ++i) some.push_back(int(unit * kLanes + i));
            units.push_back(run > lanes_of_unit ? b().CreateShuffleVector(whole, some) : whole);
        }
    }
    Parts result;
    for (unsigned i = 0; i < a.count; ++i) result.push_back(lanes_.deinterleave(units, i));
    return result;
}

void Vectoriser::store_runs(const Access& a, const Parts& values, unsigned run) {
    llvm::Value* base = scalar(a.pointer);
    const Parts units = lanes_.interleave(values);
    llvm::Value* whole = lanes_.concatenate(units);
    for (unsigned lane = 0; lane < kLanes; lane += run) {
        llvm::SmallVector<int, kLanes> some;
        for (unsigned i = 0; i < run * a.count; ++i) some.push_back(int(lane * a.count + i));
        llvm::Value* to = b().CreateConstGEP1_64(b().getInt8Ty(), base, uint64_t(a.shape.offset(lane)));
        b().CreateAlignedStore(b().CreateShuffleVector(whole, some), to, a.align);
    }
}

Parts Vectoriser::load_in_loop(const Access& a) {
    if (goes_by_runtime(a)) return load_by_runtime(a, a.element, a.count);
    const llvm::SmallVector<llvm::Type*, 4> results(a.count, a.element);
    return lanes_.for_each_lane(mask_, {vector(a.pointer)}, results,
                                [&](llvm::Value*, llvm::ArrayRef<llvm::Value*> pointer) {
                                    Parts elements;
                                    for (unsigned i = 0; i < a.count; ++i) {
                                        llvm::Value* from = b().CreateConstGEP1_64(a.element, pointer[0], i);
                                        elements.push_back(b().CreateAlignedLoad(a.element, from, a.align));
                                    }
                                    return elements;
                                });
}

Parts Vectoriser::emit_load(llvm::LoadInst& load) {
    const Shape s = shape(load.getPointerOperand());
    if (s.is_uniform()) {
        // Not `scalar`: a load's result is uniform, whatever its type.
        return {clone_scalar(load)};
    }
    if (load.getType()->isAggregateType()) {
        refuse("a load of a record");
        return {};
    }
    const Access a = access(load.getPointerOperand(), load.getType(), load.getAlign());
    if (a.element->getPrimitiveSizeInBits() != 0 && a.element->getPrimitiveSizeInBits() < 8) {
        refuse("a load of bits");
        return {};
    }
    const bool contiguous = is_contiguous(a);
    const auto together = [&]() -> Parts {
        if (goes_by_words(a)) return load_words(a, s.is_affine());
        if (contiguous) return load_contiguous(a);
        const unsigned run = s.is_affine() ? run_length(a) : 1;
        return run > 1 ? load_runs(a, run) : load_apart(a, s.is_affine());
    };
    const auto some = [&] { return contiguous && can_mask(a.size) ? load_contiguous(a) : load_in_loop(a); };
    const auto load_lanes = [&] { return by_activity(contiguous, a, together, some); };
    if (!s.assumed) return load_lanes();
    return either(holds(a.pointer), load_lanes, [&] { return load_in_loop(a); });
}

// `together` needs all lanes; whether they are active may be known at run time only.
Parts Vectoriser::by_activity(bool contiguous, const Access& a, llvm::function_ref<Parts()> together,
                              llvm::function_ref<Parts()> some) {
    if (LaneBuilder::is_all_lanes(mask_)) return together();
    if (contiguous ? can_mask(a.size) && (a.count == 1 || is_large_) : is_large_) return some();
    llvm::Value* all = b().CreateICmpEQ(lanes_.bits(mask_), b().getInt32(~0u));
    return either(
        all,
        [&] {
            llvm::Value* kept = std::exchange(mask_, lanes_.all_lanes());
            const Parts parts = together();
            mask_ = kept;
            return parts;
        },
        some);
}

void Vectoriser::store_contiguous(const Access& a, const Parts& values) {
    llvm::Value* base = scalar(a.pointer);
    const Parts units = lanes_.interleave(values);
    for (unsigned unit = 0; unit < a.count; ++unit) {
        llvm::Value* to = b().CreateConstGEP1_64(a.element, base, uint64_t(unit) * kLanes);
        llvm::Value* mask = unit_mask(unit, a.count);
        if (LaneBuilder::is_all_lanes(mask)) {
            b().CreateAlignedStore(units[unit], to, a.align);
        } else {
            b().CreateMaskedStore(units[unit], to, a.align, mask);
        }
    }
}

void Vectoriser::store_apart(const Access& a, const Parts& values, bool affine) {
    if (goes_by_words(a)) return store_words(a, values, affine);
    if (a.count > 1 && stay_in_registers(a.count) && a.element->getPrimitiveSizeInBits() == 8 * a.size) {
        return store_whole(a, values, affine);
    }
    llvm::Value* pointers = affine ? nullptr : vector(a.pointer);
    for (uint64_t lane = 0; lane < kLanes; ++lane) {
        llvm::Value* to = address_of(a, pointers, lane);
        for (unsigned i = 0; i < a.count; ++i) {
            b().CreateAlignedStore(b().CreateExtractElement(values[i], lane),
                                   b().CreateConstGEP1_64(a.element, to, i), a.align);
        }
    }
}

void Vectoriser::store_in_loop(const Access& a, const Parts& values) {
    if (goes_by_runtime(a)) return store_by_runtime(a, values);
    llvm::SmallVector<llvm::Value*, 5> operands{vector(a.pointer)};
    operands.append(values.begin(), values.end());
    lanes_.for_each_lane(mask_, operands, {}, [&](llvm::Value*, llvm::ArrayRef<llvm::Value*> elements) {
        for (unsigned i = 0; i < a.count; ++i) {
            b().CreateAlignedStore(elements[i + 1], b().CreateConstGEP1_64(a.element, elements[0], i),
                                   a.align);
        }
        return Parts{};
    });
}

void Vectoriser::emit_store(llvm::StoreInst& store) {
    llvm::Value *value = store.getValueOperand(), *pointer = store.getPointerOperand();
    const Shape s = shape(pointer);
    if (s.is_uniform() && shape(value).is_uniform()) {
        clone_scalar(store);
        return;
    }
    if (value->getType()->isAggregateType()) {
        refuse("a store of a record");
        return;
    }
    const Access a = access(pointer, value->getType(), store.getAlign());
    if (a.element->getPrimitiveSizeInBits() != 0 && a.element->getPrimitiveSizeInBits() < 8) {
        refuse("a store of bits");
        return;
    }
    const Parts values = vectors(value);
    if (s.is_uniform()) {
        // All lanes write one place: the last wins, as when they run one after the other.
        llvm::Value* last = b().getInt32(kLanes - 1);
        if (!LaneBuilder::is_all_lanes(mask_)) {
            llvm::Value* zeros =
                b().CreateBinaryIntrinsic(llvm::Intrinsic::ctlz, lanes_.bits(mask_), b().getFalse());
            last = b().CreateAnd(b().CreateSub(last, zeros), kLanes - 1);
        }
        for (unsigned i = 0; i < a.count; ++i) {
            b().CreateAlignedStore(b().CreateExtractElement(values[i], last),
                                   b().CreateConstGEP1_64(a.element, scalar(pointer), i), a.align);
        }
        return;
    }
    const bool contiguous = is_contiguous(a);
    const auto together = [&]() -> Parts {
        const unsigned run = s.is_affine() && !contiguous ? run_length(a) : 1;
        if (goes_by_words(a)) {
            store_words(a, values, s.is_affine());
        } else if (contiguous) {
            store_contiguous(a, values);
        } else if (run > 1) {
            store_runs(a, values, run);
        } else {
            store_apart(a, values, s.is_affine());
        }
        return {};
    };
    const auto one_by_one = [&]() -> Parts {
        store_in_loop(a, values);
        return {};
    };
    const auto some = [&]() -> Parts {
        if (!contiguous || !can_mask(a.size)) return one_by_one();
        store_contiguous(a, values);
        return {};
    };
    const auto store_lanes = [&] { return by_activity(contiguous, a, together, some); };
    if (!s.assumed) {
        store_lanes();
    } else {
        either(holds(a.pointer), store_lanes, one_by_one);
    }
}

}  // namespace ingot::metal::jit::lanes
