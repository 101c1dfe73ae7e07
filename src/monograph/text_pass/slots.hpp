// Python mentions: offsets, kinds, and the slots of a class. Slots are read and written in the instance's memory,
// because access by attribute name takes ten times as long.
#pragma once
#include <nanobind/nanobind.h>

#include <optional>
#include <stdexcept>
#include <string>
#include <structmember.h>

namespace monograph {

namespace nb = nanobind;

// Return a Python int as an offset; nullopt if it is not an int, or out of range.
inline std::optional<std::size_t> place_of(PyObject *number) {
    const Py_ssize_t place = number && PyLong_CheckExact(number) ? PyLong_AsSsize_t(number) : -1;
    if (place >= 0) return static_cast<std::size_t>(place);
    PyErr_Clear();
    return std::nullopt;
}

// Kinds of mentions, identified by index.
class Kinds {
  public:
    explicit Kinds(const nb::list &kinds) : kinds_(kinds) {}

    std::size_t size() const { return kinds_.size(); }
    nb::object operator[](std::size_t at) const { return nb::borrow(PyList_GET_ITEM(kinds_.ptr(), static_cast<Py_ssize_t>(at))); }

    // Return the index of a kind; nullopt for an extractor's own kinds. Identity nearly always holds: it is tested
    // first.
    std::optional<std::size_t> find(nb::handle kind) const {
        for (std::size_t at = 0; at < size(); ++at)
            if (PyList_GET_ITEM(kinds_.ptr(), static_cast<Py_ssize_t>(at)) == kind.ptr()) return at;
        for (std::size_t at = 0; at < size(); ++at)
            if ((*this)[at].equal(kind)) return at;
        return std::nullopt;
    }

    // Return the index of a kind by its name. Throws invalid_argument if it is missing.
    std::size_t named(const char *kind) const {
        if (const auto found = find(nb::str(kind))) return *found;
        throw std::invalid_argument(std::string("there is no kind ") + kind);
    }

  private:
    nb::list kinds_;
};

// A slot (``__slots__``) of a class. Throws invalid_argument if the class has no such slot.
class Slot {
  public:
    Slot(nb::handle type, const char *name) {
        const nb::object member = nb::getattr(type, name);
        if (Py_TYPE(member.ptr()) != &PyMemberDescr_Type) throw std::invalid_argument(std::string("there is no slot ") + name);
        const PyMemberDef *told = reinterpret_cast<PyMemberDescrObject *>(member.ptr())->d_member;
        if (told->type != T_OBJECT_EX) throw std::invalid_argument(std::string("there is no slot ") + name);
        offset_ = told->offset;
    }

    // Return the value in an instance, borrowed; nullptr if it was deleted.
    PyObject *of(PyObject *instance) const { return *place(instance); }

    // Set the slot of a new instance, in which it is empty.
    void fill(PyObject *instance, nb::object value) const { *place(instance) = value.release().ptr(); }

  private:
    PyObject **place(PyObject *instance) const { return reinterpret_cast<PyObject **>(reinterpret_cast<char *>(instance) + offset_); }

    Py_ssize_t offset_;
};

} // namespace monograph
