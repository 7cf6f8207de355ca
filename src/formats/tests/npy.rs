//! NumPy arrays and archives.

use ngc_formats::{FormatError, npy, npz};
use ngc_numerics::{DType, Data, Format, Tensor};
use proptest::prelude::*;

fn testdata(name: &str) -> Vec<u8> {
    let path = format!("{}/../../testdata/tensors/{name}", env!("CARGO_MANIFEST_DIR"));
    std::fs::read(&path).unwrap_or_else(|e| panic!("{path}: {e}"))
}

fn values(tensor: &Tensor) -> Vec<f64> {
    tensor.to_f64s()
}

#[test]
fn reads_what_numpy_writes() {
    let ramp = [-2.0, -1.0, 0.0, 1.0, 2.0, 3.0];
    for (name, dtype) in [
        ("f2_le", DType::Float(Format::F16)),
        ("f4_le", DType::Float(Format::F32)),
        ("f4_be", DType::Float(Format::F32)),
        ("f8_be", DType::Float(Format::F64)),
        ("f8_fortran", DType::Float(Format::F64)),
        ("i1", DType::Int(8)),
        ("i2_be", DType::Int(16)),
        ("i4", DType::Int(32)),
        ("i8_fortran_be", DType::Int(64)),
        ("f4_v2", DType::Float(Format::F32)),
        ("f4_v3", DType::Float(Format::F32)),
    ] {
        let tensor = npy::read(&testdata(&format!("{name}.npy")), None).unwrap();
        assert_eq!((tensor.dtype, &tensor.shape[..]), (dtype, &[2, 3][..]), "{name}");
        assert_eq!(values(&tensor), ramp, "{name}");
    }
}

#[test]
fn unsigned_integers_keep_their_values() {
    for (name, dtype, top) in [
        ("u1", DType::Unsigned(8), 255.0),
        ("u2_be", DType::Unsigned(16), 65535.0),
        ("u4", DType::Unsigned(32), 4294967295.0),
        ("u8", DType::Int(64), 1e15),
    ] {
        let tensor = npy::read(&testdata(&format!("{name}.npy")), None).unwrap();
        assert_eq!((tensor.dtype, values(&tensor)), (dtype, vec![0.0, 1.0, top]), "{name}");
    }
    let beyond = npy::read(&testdata("u8_beyond.npy"), None).unwrap_err();
    assert_eq!(beyond, FormatError::Unsupported("element 1: 18446744073709551615 does not fit i64".into()));
}

#[test]
fn booleans_scalars_and_empty_arrays() {
    let b = npy::read(&testdata("b1.npy"), None).unwrap();
    assert_eq!((b.dtype, b.data), (DType::BOOL, Data::Int(vec![1, 0, 1])));
    let scalar = npy::read(&testdata("scalar.npy"), None).unwrap();
    assert_eq!((scalar.shape.len(), values(&scalar)), (0, vec![1.5]));
    let empty = npy::read(&testdata("empty.npy"), None).unwrap();
    assert_eq!(empty.shape, [2, 0, 3]);
}

#[test]
fn void_elements_need_a_format() {
    let bytes = testdata("bfloat16.npy");
    let refused = npy::read(&bytes, None).unwrap_err();
    assert!(matches!(&refused, FormatError::Unsupported(m) if m.contains("say which format")), "{refused}");
    let read = npy::read(&bytes, Some(DType::Float(Format::Bf16))).unwrap();
    assert_eq!(values(&read), [1.0, -2.5, 3.140625]);
    let wrong = npy::read(&bytes, Some(DType::Float(Format::F32))).unwrap_err();
    assert!(wrong.to_string().contains("cannot be read as f32"), "{wrong}");
    let f8 = npy::read(&testdata("float8_e4m3fn.npy"), Some(DType::Float(Format::F8E4M3FN))).unwrap();
    assert_eq!(values(&f8), [1.0, -2.5, 448.0]);
}

#[test]
fn other_elements_are_refused_by_name() {
    for (name, what) in [("complex", "c16"), ("text", "U3"), ("structured", "structured"), ("object", "|O")] {
        let error = npy::read(&testdata(&format!("{name}.npy")), None).unwrap_err();
        assert!(matches!(&error, FormatError::Unsupported(m) if m.contains(what)), "{name}: {error}");
    }
}

#[test]
fn every_truncation_is_an_error() {
    for name in ["f4_le.npy", "f4_v2.npy", "f8_fortran.npy", "u1.npy"] {
        let whole = testdata(name);
        for end in 0..whole.len() {
            assert!(npy::read(&whole[..end], None).is_err(), "{name} cut at {end}");
        }
        let mut longer = whole.clone();
        longer.push(0);
        assert!(npy::read(&longer, None).is_err(), "{name} with a byte too much");
    }
    for name in ["stored.npz", "deflated.npz"] {
        let whole = testdata(name);
        assert!(npz::read(&whole, None).is_ok());
        for end in 0..whole.len() {
            assert!(npz::read(&whole[..end], None).is_err(), "{name} cut at {end}");
        }
    }
}

fn with_header(header: &str, data: &[u8]) -> Vec<u8> {
    let mut file = b"\x93NUMPY\x01\x00".to_vec();
    file.extend((header.len() as u16).to_le_bytes());
    file.extend(header.as_bytes());
    file.extend(data);
    file
}

#[test]
fn hostile_headers_are_located_errors() {
    for (header, message) in [
        ("{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387904, 16)}", "too many elements"),
        (
            "{'descr': '<f4', 'fortran_order': False, 'shape': (1000000000,)}",
            "1000000000 elements of 4 bytes",
        ),
        ("{'descr': '<f4', 'fortran_order': False, 'shape': (-4,)}", "'shape': '-4' is no extent"),
        ("{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,)}", "is no extent"),
        ("{'descr': '<f4', 'fortran_order': maybe, 'shape': ()}", "neither True nor False"),
        ("{'descr': '<f4', 'shape': ()}", "needs 'descr'"),
        ("{'descr': '<f4", "does not end"),
        ("{'descr': '<f4', 'x': 1}", "unknown key 'x'"),
        ("((((((", "expected '{'"),
        ("", "found the end"),
    ] {
        let error = npy::read(&with_header(header, &[0; 4]), None).unwrap_err();
        assert!(error.to_string().contains(message), "{header}: {error}");
    }
    let scalar = with_header("{'descr': '<f4', 'fortran_order': True, 'shape': ( ) }", &1.5f32.to_le_bytes());
    assert_eq!(values(&npy::read(&scalar, None).unwrap()), [1.5]);
}

#[test]
fn archives() {
    for name in ["stored.npz", "deflated.npz"] {
        let arrays = npz::read(&testdata(name), None).unwrap();
        let names: Vec<&str> = arrays.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["x", "group/y"]);
        assert_eq!(values(&arrays[0].1), [0.0, 1.0, 2.0]);
        assert_eq!(arrays[1].1.shape, [100]);
    }
}

#[test]
fn an_archive_that_lies_about_sizes_is_refused() {
    let whole = testdata("deflated.npz");
    // The central directory holds the uncompressed size 24 bytes after its signature.
    let at = whole.windows(4).position(|w| w == b"PK\x01\x02").unwrap() + 24;
    let with_size = |size: u32| {
        let mut bytes = whole.clone();
        bytes[at..at + 4].copy_from_slice(&size.to_le_bytes());
        npz::read(&bytes, None).unwrap_err().to_string()
    };
    assert!(with_size(2_000_000_000).contains("cannot be packed"), "{}", with_size(2_000_000_000));
    assert!(with_size(3).contains("entry"), "{}", with_size(3));
    let bomb = npz::read(&testdata("not_an_array.npz"), None).unwrap_err();
    assert!(bomb.to_string().contains("entry 'readme.txt': byte 0: not an .npy file"), "{bomb}");
}

/// An archive of one deflated entry: these bytes, then zeros up to `length`.
fn bomb(head: &[u8], length: usize) -> Vec<u8> {
    use std::io::{Read, Write};
    let mut archive = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    archive.start_file("x.npy", zip::write::SimpleFileOptions::default()).unwrap();
    archive.write_all(head).unwrap();
    let mut zeros = std::io::repeat(0).take((length - head.len()) as u64);
    std::io::copy(&mut zeros, &mut archive).unwrap();
    archive.finish().unwrap().into_inner()
}

#[test]
fn an_archive_is_not_unfolded_before_its_header_is_believed() {
    let head = |count: usize| {
        with_header(&format!("{{'descr': '|b1', 'fortran_order': False, 'shape': ({count},) }}"), &[])
    };
    // One byte an element in the file, eight in memory.
    let count = (npz::MAX_BYTES / 8 + 1) as usize;
    let large = npz::read(&bomb(&head(count), head(count).len() + count), None).unwrap_err();
    assert!(
        matches!(&large, FormatError::Unsupported(m) if m.contains("more than 2 GiB in memory")),
        "{large}"
    );
    let other = npz::read(&bomb(&head(5), 1 << 20), None).unwrap_err();
    assert_eq!(
        other.to_string(),
        "entry 'x.npy': 1048576 bytes were declared, but its header announces 5 elements"
    );
    assert!(npz::read(&bomb(&head(5), head(5).len() + 5), None).is_ok());
}

fn tensors() -> impl Strategy<Value = Tensor> {
    let dtypes = [1, 8, 16, 32, 64]
        .map(DType::Int)
        .into_iter()
        .chain(Format::ALL.map(DType::Float))
        .collect::<Vec<_>>();
    (prop::sample::select(dtypes), prop::collection::vec(0usize..4, 0..4)).prop_flat_map(|(dtype, shape)| {
        let bytes = shape.iter().product::<usize>() * dtype.storage_bytes();
        prop::collection::vec(any::<u8>(), bytes).prop_map(move |bytes| {
            // NaN does not equal itself, so that it is made a zero; bits beyond tf32's 19 are dropped.
            let mut tensor = Tensor::from_bytes(dtype, shape.clone(), &bytes).unwrap();
            if let Data::Float(values) = &mut tensor.data {
                values.iter_mut().filter(|x| x.is_nan()).for_each(|x| *x = 0.0);
            }
            tensor
        })
    })
}

proptest! {
    #[test]
    fn written_arrays_read_back(tensor in tensors()) {
        let bytes = npy::write(&tensor);
        prop_assert_eq!(npy::read(&bytes, Some(tensor.dtype)).unwrap(), tensor);
    }

    #[test]
    fn no_bytes_make_the_readers_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = npz::read(&bytes, None);
        let mut file = b"\x93NUMPY\x01\x00".to_vec();
        file.extend(bytes);
        let _ = npy::read(&file, None);
    }

    #[test]
    fn no_damaged_byte_makes_the_readers_panic(at in 0usize..600, byte in any::<u8>()) {
        for name in ["stored.npz", "deflated.npz", "f8_fortran.npy"] {
            let mut bytes = testdata(name);
            let at = at % bytes.len();
            bytes[at] = byte;
            let _ = npz::read(&bytes, None);
            let _ = npy::read(&bytes, None);
        }
    }
}
