// Enumerations and plain structs of the Metal compute API, values as Apple documents them.
#pragma once

#include <functional>

#include <Foundation/Foundation.hpp>

#include "MTLBlocks.hpp"

// In Apple's headers these come with the system.
using CFTimeInterval = double;

namespace MTL {

class Device;
class Buffer;
class CommandBuffer;
class ComputePipelineReflection;
class ComputePipelineState;
class Function;
class Library;
class SharedEvent;

struct Size {
    Size() = default;
    Size(NS::UInteger w, NS::UInteger h, NS::UInteger d) : width(w), height(h), depth(d) {}
    static Size Make(NS::UInteger w, NS::UInteger h, NS::UInteger d) { return Size(w, h, d); }

    NS::UInteger width, height, depth;
} __attribute__((packed));

struct SizeAndAlign {
    NS::UInteger size, align;
} __attribute__((packed));

enum CommandBufferStatus : NS::UInteger {
    CommandBufferStatusNotEnqueued = 0,
    CommandBufferStatusEnqueued = 1,
    CommandBufferStatusCommitted = 2,
    CommandBufferStatusScheduled = 3,
    CommandBufferStatusCompleted = 4,
    CommandBufferStatusError = 5,
};

enum CommandBufferError : NS::UInteger {
    CommandBufferErrorNone = 0,
    CommandBufferErrorInternal = 1,
    CommandBufferErrorTimeout = 2,
    CommandBufferErrorPageFault = 3,
    CommandBufferErrorAccessRevoked = 4,
    CommandBufferErrorNotPermitted = 7,
    CommandBufferErrorOutOfMemory = 8,
    CommandBufferErrorInvalidResource = 9,
    CommandBufferErrorMemoryless = 10,
    CommandBufferErrorDeviceRemoved = 11,
    CommandBufferErrorStackOverflow = 12,
};

enum DispatchType : NS::UInteger { DispatchTypeSerial = 0, DispatchTypeConcurrent = 1 };
enum BarrierScope : NS::UInteger {
    BarrierScopeBuffers = 1,
    BarrierScopeTextures = 2,
    BarrierScopeRenderTargets = 4,
};
enum ResourceUsage : NS::UInteger { ResourceUsageRead = 1, ResourceUsageWrite = 2, ResourceUsageSample = 4 };
enum StorageMode : NS::UInteger {
    StorageModeShared = 0,
    StorageModeManaged = 1,
    StorageModePrivate = 2,
    StorageModeMemoryless = 3,
};
enum CPUCacheMode : NS::UInteger { CPUCacheModeDefaultCache = 0, CPUCacheModeWriteCombined = 1 };
enum HazardTrackingMode : NS::UInteger {
    HazardTrackingModeDefault = 0,
    HazardTrackingModeUntracked = 1,
    HazardTrackingModeTracked = 2,
};
using ResourceOptions = NS::UInteger;
constexpr ResourceOptions ResourceCPUCacheModeDefaultCache = 0, ResourceCPUCacheModeWriteCombined = 1,
                          ResourceStorageModeShared = 0, ResourceStorageModeManaged = 1 << 4,
                          ResourceStorageModePrivate = 1 << 5, ResourceHazardTrackingModeDefault = 0,
                          ResourceHazardTrackingModeUntracked = 1 << 8,
                          ResourceHazardTrackingModeTracked = 1 << 9;
using PipelineOption = NS::UInteger;
constexpr PipelineOption PipelineOptionNone = 0, PipelineOptionArgumentInfo = 1,
                         PipelineOptionBindingInfo = 1, PipelineOptionBufferTypeInfo = 2;
enum HeapType : NS::Integer { HeapTypeAutomatic = 0, HeapTypePlacement = 1, HeapTypeSparse = 2 };
enum PurgeableState : NS::UInteger {
    PurgeableStateKeepCurrent = 1,
    PurgeableStateNonVolatile = 2,
    PurgeableStateVolatile = 3,
    PurgeableStateEmpty = 4,
};

enum DataType : NS::UInteger {
    DataTypeNone = 0,
    DataTypeStruct = 1,
    DataTypeArray = 2,
    DataTypeFloat = 3,
    DataTypeFloat2 = 4,
    DataTypeFloat3 = 5,
    DataTypeFloat4 = 6,
    DataTypeHalf = 16,
    DataTypeHalf2 = 17,
    DataTypeHalf3 = 18,
    DataTypeHalf4 = 19,
    DataTypeInt = 29,
    DataTypeInt2 = 30,
    DataTypeInt3 = 31,
    DataTypeInt4 = 32,
    DataTypeUInt = 33,
    DataTypeUInt2 = 34,
    DataTypeUInt3 = 35,
    DataTypeUInt4 = 36,
    DataTypeShort = 37,
    DataTypeShort2 = 38,
    DataTypeShort3 = 39,
    DataTypeShort4 = 40,
    DataTypeUShort = 41,
    DataTypeUShort2 = 42,
    DataTypeUShort3 = 43,
    DataTypeUShort4 = 44,
    DataTypeChar = 45,
    DataTypeChar2 = 46,
    DataTypeChar3 = 47,
    DataTypeChar4 = 48,
    DataTypeUChar = 49,
    DataTypeUChar2 = 50,
    DataTypeUChar3 = 51,
    DataTypeUChar4 = 52,
    DataTypeBool = 53,
    DataTypeBool2 = 54,
    DataTypeBool3 = 55,
    DataTypeBool4 = 56,
    DataTypePointer = 60,
    DataTypeLong = 81,
    DataTypeLong2 = 82,
    DataTypeLong3 = 83,
    DataTypeLong4 = 84,
    DataTypeULong = 85,
    DataTypeULong2 = 86,
    DataTypeULong3 = 87,
    DataTypeULong4 = 88,
    DataTypeBFloat = 121,
    DataTypeBFloat2 = 122,
    DataTypeBFloat3 = 123,
    DataTypeBFloat4 = 124,
};

enum FunctionType : NS::UInteger { FunctionTypeVertex = 1, FunctionTypeFragment = 2, FunctionTypeKernel = 3 };

enum LanguageVersion : NS::UInteger {
    LanguageVersion2_4 = 131076,
    LanguageVersion3_0 = 196608,
    LanguageVersion3_1 = 196609,
    LanguageVersion3_2 = 196610,
    LanguageVersion4_0 = 262144,
};
enum MathMode : NS::Integer { MathModeSafe = 0, MathModeRelaxed = 1, MathModeFast = 2 };
enum LibraryError : NS::UInteger {
    LibraryErrorUnsupported = 1,
    LibraryErrorInternal = 2,
    LibraryErrorCompileFailure = 3,
    LibraryErrorCompileWarning = 4,
    LibraryErrorFunctionNotFound = 5,
    LibraryErrorFileNotFound = 6,
};

enum GPUFamily : NS::Integer {
    GPUFamilyApple1 = 1001,
    GPUFamilyApple2 = 1002,
    GPUFamilyApple3 = 1003,
    GPUFamilyApple4 = 1004,
    GPUFamilyApple5 = 1005,
    GPUFamilyApple6 = 1006,
    GPUFamilyApple7 = 1007,
    GPUFamilyApple8 = 1008,
    GPUFamilyApple9 = 1009,
    GPUFamilyApple10 = 1010,
    GPUFamilyMac1 = 2001,
    GPUFamilyMac2 = 2002,
    GPUFamilyCommon1 = 3001,
    GPUFamilyCommon2 = 3002,
    GPUFamilyCommon3 = 3003,
    GPUFamilyMetal3 = 5001,
    GPUFamilyMetal4 = 5002,
};

enum BindingType : NS::Integer { BindingTypeBuffer = 0, BindingTypeThreadgroupMemory = 1 };
enum BindingAccess : NS::UInteger {
    BindingAccessReadOnly = 0,
    BindingAccessReadWrite = 1,
    BindingAccessWriteOnly = 2
};

using HandlerFunction = std::function<void(CommandBuffer*)>;
using SharedEventNotificationFunction = std::function<void(SharedEvent*, std::uint64_t)>;
using AutoreleasedComputePipelineReflection = ComputePipelineReflection*;
using NewLibraryCompletionHandlerFunction = std::function<void(Library*, NS::Error*)>;
using FunctionCompletionHandlerFunction = std::function<void(Function*, NS::Error*)>;
using NewComputePipelineStateCompletionHandlerFunction =
    std::function<void(ComputePipelineState*, NS::Error*)>;
using NewComputePipelineStateWithReflectionCompletionHandlerFunction =
    std::function<void(ComputePipelineState*, ComputePipelineReflection*, NS::Error*)>;
#if defined(__BLOCKS__)
using CommandBufferHandler = void (^)(CommandBuffer*);
using SharedEventNotificationBlock = void (^)(SharedEvent*, std::uint64_t);
using NewLibraryCompletionHandler = void (^)(Library*, NS::Error*);
using NewComputePipelineStateCompletionHandler = void (^)(ComputePipelineState*, NS::Error*);
using NewComputePipelineStateWithReflectionCompletionHandler = void (^)(ComputePipelineState*,
                                                                        ComputePipelineReflection*,
                                                                        NS::Error*);
#endif

extern const NS::ErrorDomain CommandBufferErrorDomain;
extern const NS::ErrorDomain LibraryErrorDomain;

}  // namespace MTL
