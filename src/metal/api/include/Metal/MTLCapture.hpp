// Captures: a record of what a program encodes. Apple's tools write GPU traces; the virtual device writes
// text.
#pragma once

#include "MTLCommandBuffer.hpp"

namespace MTL {

enum CaptureError : NS::Integer {
    CaptureErrorNotSupported = 1,
    CaptureErrorAlreadyCapturing = 2,
    CaptureErrorInvalidDescriptor = 3,
};
enum CaptureDestination : NS::Integer {
    CaptureDestinationDeveloperTools = 1,
    CaptureDestinationGPUTraceDocument = 2,
};
extern const NS::ErrorDomain CaptureErrorDomain;

class CaptureScope : public NS::Referencing<CaptureScope> {
  public:
    Device* device() const;
    CommandQueue* commandQueue() const;
    NS::String* label() const;
    void setLabel(const NS::String* label);
    void beginScope();
    void endScope();
};

class CaptureDescriptor : public NS::Copying<CaptureDescriptor> {
  public:
    static CaptureDescriptor* alloc();
    CaptureDescriptor* init();
    NS::Object* captureObject() const;
    void setCaptureObject(NS::Object* captureObject);
    CaptureDestination destination() const;
    void setDestination(CaptureDestination destination);
    NS::URL* outputURL() const;
    void setOutputURL(const NS::URL* outputURL);

  private:
    friend class NS::Copying<CaptureDescriptor>;
    CaptureDescriptor* copy_() const;
};

class CaptureManager : public NS::Referencing<CaptureManager> {
  public:
    static CaptureManager* sharedCaptureManager();
    CaptureScope* newCaptureScope(const Device* device);
    CaptureScope* newCaptureScope(const CommandQueue* commandQueue);
    CaptureScope* defaultCaptureScope() const;
    void setDefaultCaptureScope(const CaptureScope* scope);
    bool supportsDestination(CaptureDestination destination);
    bool startCapture(const CaptureDescriptor* descriptor, NS::Error** error);
    void startCapture(const Device* device);
    void startCapture(const CommandQueue* commandQueue);
    void startCapture(const CaptureScope* captureScope);
    void stopCapture();
    bool isCapturing() const;
};

}  // namespace MTL
