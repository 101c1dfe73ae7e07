// The slots of a class of Python's, read and filled where they lie: by their names it takes ten times as long.
#pragma once
#include <nanobind/nanobind.h>

#include <stdexcept>
#include <string>
#include <structmember.h>

namespace monograph {

namespace nb = nanobind;

// One slot of all instances of a class; only of a class whose instances hold it so.
class Slot {
  public:
    Slot(nb::handle type, const char *name) {
        const nb::object member = nb::getattr(type, name);
        if (Py_TYPE(member.ptr()) != &PyMemberDescr_Type) throw std::invalid_argument(std::string("there is no slot ") + name);
        const PyMemberDef *told = reinterpret_cast<PyMemberDescrObject *>(member.ptr())->d_member;
        if (told->type != T_OBJECT_EX) throw std::invalid_argument(std::string("there is no slot ") + name);
        offset_ = told->offset;
    }

    // What an instance holds there; nothing where that was taken out.
    PyObject *of(PyObject *instance) const { return *place(instance); }

    // Fill it in an instance that is new.
    void fill(PyObject *instance, nb::object value) const { *place(instance) = value.release().ptr(); }

  private:
    PyObject **place(PyObject *instance) const { return reinterpret_cast<PyObject **>(reinterpret_cast<char *>(instance) + offset_); }

    Py_ssize_t offset_;
};

} // namespace monograph
