#define PY_VERSION "3.12.3"
