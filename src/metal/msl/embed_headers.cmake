# Writes OUTPUT, a C++ file that holds every file below FOLDER: cmake -DFOLDER=... -DOUTPUT=... -P embed_headers.cmake
file(GLOB_RECURSE headers RELATIVE ${FOLDER} ${FOLDER}/*)
list(SORT headers)
set(table "")
foreach(header ${headers})
  file(READ ${FOLDER}/${header} text)
  # A string literal has a limit of its own; adjacent ones don't.
  string(LENGTH "${text}" length)
  set(literals "")
  set(at 0)
  while(at LESS length)
    string(SUBSTRING "${text}" ${at} 8000 part)
    string(APPEND literals "R\"ingot(${part})ingot\"\n")
    math(EXPR at "${at} + 8000")
  endwhile()
  if(literals STREQUAL "")
    set(literals "\"\"")
  endif()
  string(APPEND table "    {\"${header}\", ${literals}},\n")
endforeach()
file(WRITE ${OUTPUT} "#include \"metal/msl/headers.h\"

namespace ingot::metal::msl {
namespace {

constexpr EmbeddedHeader kHeaders[] = {
${table}};

}  // namespace

std::span<const EmbeddedHeader> embedded_headers() {
    return kHeaders;
}

}  // namespace ingot::metal::msl
")
