// Mentions as Python has them: their kinds, their places, and the slots of a class, which are read and filled where they lie,
// for by their names it takes ten times as long.
#pragma once
#include <nanobind/nanobind.h>

#include <optional>
#include <stdexcept>
#include <string>
#include <structmember.h>

namespace monograph {

namespace nb = nanobind;

// The number that is a place; nothing where it is none.
inline std::optional<std::size_t> place_of(PyObject *number) {
    const Py_ssize_t place = number && PyLong_CheckExact(number) ? PyLong_AsSsize_t(number) : -1;
    if (place >= 0) return static_cast<std::size_t>(place);
    PyErr_Clear();
    return std::nullopt;
}

// Kinds of mentions, known by their places. Nearly always a kind is one of these very objects.
class Kinds {
  public:
    explicit Kinds(const nb::list &kinds) : kinds_(kinds) {}

    std::size_t size() const { return kinds_.size(); }
    nb::object operator[](std::size_t at) const { return nb::borrow(PyList_GET_ITEM(kinds_.ptr(), static_cast<Py_ssize_t>(at))); }

    // Nothing for one of an extractor's own.
    std::optional<std::size_t> find(nb::handle kind) const {
        for (std::size_t at = 0; at < size(); ++at)
            if (PyList_GET_ITEM(kinds_.ptr(), static_cast<Py_ssize_t>(at)) == kind.ptr()) return at;
        for (std::size_t at = 0; at < size(); ++at)
            if ((*this)[at].equal(kind)) return at;
        return std::nullopt;
    }

    std::size_t named(const char *kind) const {
        if (const auto found = find(nb::str(kind))) return *found;
        throw std::invalid_argument(std::string("there is no kind ") + kind);
    }

  private:
    nb::list kinds_;
};

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
