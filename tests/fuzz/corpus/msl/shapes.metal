namespace a { inline namespace b { union U { int operator()(int) const; friend bool operator<(U, U) { return R"x(})x"[0]; } }; } }
extern "C" { enum class E : short { A, B }; }
int x = { 1, 2 }, y[] = { [0 ... 3] = 1 };