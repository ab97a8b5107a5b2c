// Code: libraries, functions, function constants, pipelines, reflection.
#pragma once

#include "MTLTypes.hpp"

namespace MTL {

class FunctionConstantValues : public NS::Copying<FunctionConstantValues> {
  public:
    static FunctionConstantValues* alloc();
    FunctionConstantValues* init();
    void setConstantValue(const void* value, DataType type, NS::UInteger index);
    void setConstantValue(const void* value, DataType type, const NS::String* name);
    void setConstantValues(const void* values, DataType type, NS::Range range);
    void reset();

  private:
    friend class NS::Copying<FunctionConstantValues>;
    FunctionConstantValues* copy_() const;
};

class FunctionConstant : public NS::Referencing<FunctionConstant> {
  public:
    NS::String* name() const;
    DataType type() const;
    NS::UInteger index() const;
    bool required() const;
};

class Function : public NS::Referencing<Function> {
  public:
    NS::String* label() const;
    void setLabel(const NS::String* label);
    Device* device() const;
    FunctionType functionType() const;
    NS::String* name() const;
    NS::Dictionary* functionConstantsDictionary() const;
};

class FunctionDescriptor : public NS::Copying<FunctionDescriptor> {
  public:
    static FunctionDescriptor* functionDescriptor();
    static FunctionDescriptor* alloc();
    FunctionDescriptor* init();
    NS::String* name() const;
    void setName(const NS::String* name);
    NS::String* specializedName() const;
    void setSpecializedName(const NS::String* name);
    FunctionConstantValues* constantValues() const;
    void setConstantValues(const FunctionConstantValues* values);

  private:
    friend class NS::Copying<FunctionDescriptor>;
    FunctionDescriptor* copy_() const;
};

class CompileOptions : public NS::Copying<CompileOptions> {
  public:
    static CompileOptions* alloc();
    CompileOptions* init();
    LanguageVersion languageVersion() const;
    void setLanguageVersion(LanguageVersion version);
    bool fastMathEnabled() const;
    void setFastMathEnabled(bool enabled);
    MathMode mathMode() const;
    void setMathMode(MathMode mode);
    NS::Dictionary* preprocessorMacros() const;
    void setPreprocessorMacros(const NS::Dictionary* macros);

  private:
    friend class NS::Copying<CompileOptions>;
    CompileOptions* copy_() const;
};

class Library : public NS::Referencing<Library> {
  public:
    NS::String* label() const;
    void setLabel(const NS::String* label);
    Device* device() const;
    NS::Array* functionNames() const;
    Function* newFunction(const NS::String* name);
    Function* newFunction(const NS::String* name, const FunctionConstantValues* values, NS::Error** error);
    Function* newFunction(const FunctionDescriptor* descriptor, NS::Error** error);
    void newFunction(const NS::String* name, const FunctionConstantValues* values,
                     const FunctionCompletionHandlerFunction& completionHandler);
    void newFunction(const FunctionDescriptor* descriptor,
                     const FunctionCompletionHandlerFunction& completionHandler);
#if defined(__BLOCKS__)
    void newFunction(const NS::String* name, const FunctionConstantValues* values,
                     void (^completionHandler)(Function*, NS::Error*)) {
        newFunction(name, values, Blocks::function_of(completionHandler));
    }
    void newFunction(const FunctionDescriptor* descriptor, void (^completionHandler)(Function*, NS::Error*)) {
        newFunction(descriptor, Blocks::function_of(completionHandler));
    }
#endif
};

class Binding : public NS::Referencing<Binding> {
  public:
    NS::String* name() const;
    BindingType type() const;
    BindingAccess access() const;
    NS::UInteger index() const;
    bool used() const;
    bool argument() const;
};

class BufferBinding : public NS::Referencing<BufferBinding, Binding> {
  public:
    NS::UInteger bufferAlignment() const;
    NS::UInteger bufferDataSize() const;
};

class ComputePipelineReflection : public NS::Referencing<ComputePipelineReflection> {
  public:
    NS::Array* bindings() const;
};

class ComputePipelineDescriptor : public NS::Copying<ComputePipelineDescriptor> {
  public:
    static ComputePipelineDescriptor* alloc();
    ComputePipelineDescriptor* init();
    NS::String* label() const;
    void setLabel(const NS::String* label);
    Function* computeFunction() const;
    void setComputeFunction(const Function* function);
    NS::UInteger maxTotalThreadsPerThreadgroup() const;
    void setMaxTotalThreadsPerThreadgroup(NS::UInteger threads);
    bool threadGroupSizeIsMultipleOfThreadExecutionWidth() const;
    void setThreadGroupSizeIsMultipleOfThreadExecutionWidth(bool is_multiple);
    void reset();

  private:
    friend class NS::Copying<ComputePipelineDescriptor>;
    ComputePipelineDescriptor* copy_() const;
};

class ComputePipelineState : public NS::Referencing<ComputePipelineState> {
  public:
    NS::String* label() const;
    Device* device() const;
    NS::UInteger maxTotalThreadsPerThreadgroup() const;
    NS::UInteger threadExecutionWidth() const;
    NS::UInteger staticThreadgroupMemoryLength() const;
};

}  // namespace MTL
