cimport cython

cdef int _ANY, _PARAMETER_TEXT, _TEXT, _INTEGER, _NUMBER, _BOOLEAN
cdef int _CHOICE, _LIST, _MAP, _OBJECT, _UNION, _NULL
cdef int _PARSED, _DECIMAL, _TUPLE, _CHECKED, _TAGGED
cdef int _DEPTH_LIMIT
cdef int _FAST, _EXACT, _FROM_TEXT
cdef double _EXACT_FLOATS
cdef object _MISSING
cdef object _OMITTED

cdef object _to_integer(Coercer coercer, object value)
cdef object _to_number(Coercer coercer, object value)

@cython.locals(whole=bint)
cdef object _to_text(Coercer coercer, object value, int exact)

cdef object _without_literals(object value)
cdef object _to_decimal(Coercer coercer, object value, int exact)
cdef object _to_parsed(Coercer coercer, object value)

@cython.locals(index=Py_ssize_t, members=tuple, values=list)
cdef object _to_tuple(Coercer coercer, object value, int depth, int exact, object memo)

cdef object _to_checked(Coercer coercer, object value, int depth, int exact, object memo)
cdef object _to_tagged(Coercer coercer, object value, int depth, int exact, object memo)
cdef object _to_choice(Coercer coercer, object value)
cdef object _decoded(Coercer coercer, object value)

@cython.locals(index=Py_ssize_t, item=Coercer, values=list)
cdef object _to_list(Coercer coercer, object value, int depth, int exact, object memo)

@cython.locals(item=Coercer, key_coercer=Coercer, values=dict)
cdef object _to_map(Coercer coercer, object value, int depth, int exact, object memo)

@cython.locals(fields=ArgumentBinder, values=list)
cdef object _to_object(Coercer coercer, object value, int depth, int exact, object memo)

@cython.locals(kind=int)
cdef bint _is_exact(Coercer coercer, object value)
cdef bint _shows_type(Coercer coercer, object value)

cdef bint _is_final(object mismatch)

cdef object _to_member(Coercer coercer, object value, int depth, int exact, object memo)

@cython.locals(member=Coercer, exactly=bint)
cdef object _try_members(Coercer coercer, object value, int depth, int exact, object memo)

@cython.locals(kind=int, number=double)
cdef object _coerce(Coercer coercer, object value, int depth, int exact, object memo)

@cython.final
cdef class Coercer:
    cdef int _kind
    cdef bint _optional
    cdef bint _keyword_only
    cdef readonly object accepts
    cdef Coercer _item
    cdef Coercer _key
    cdef object _construct
    cdef ArgumentBinder _fields
    cdef tuple _members
    cdef dict _choices
    cdef dict _folded
    cdef dict _folded_values
    cdef tuple _others

@cython.final
cdef class ArgumentBinder:
    cdef object _owner
    cdef tuple _names
    cdef tuple _wire_names
    cdef tuple _coercers
    cdef tuple _defaults
    cdef tuple _factories
    cdef Py_ssize_t _count
    cdef Coercer _extra
    cdef bint _closed
    cdef bint _opaque
    cdef object _read

    cpdef list values(self, arguments)

    cdef list _values(self, object arguments)

    @cython.locals(i=Py_ssize_t, found=Py_ssize_t, wire_names=tuple, coercers=tuple, coercer=Coercer, values=list)
    cdef list _bind(self, dict given, int depth, int exact, object memo)

    cdef object _further(self, dict given, list values, object problems, int depth, int exact, object memo)
