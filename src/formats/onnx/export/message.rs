//! The message of a model in parts, so that weights are written from where they lie.

use prost::Message;
use prost::bytes::{BufMut, Bytes, BytesMut};
use prost::encoding::{WireType, encode_key, encode_varint, encoded_len_varint};

use super::super::proto::{ModelProto, TensorProto};

/// Field numbers of `onnx.proto`.
const GRAPH_OF_MODEL: u32 = 7;
const INITIALIZER_OF_GRAPH: u32 = 5;
const RAW_DATA_OF_TENSOR: u32 = 9;

/// Data of fewer bytes are copied.
const SMALL: usize = 4096;

/// What `encode_to_vec` gives, but for the order of fields, which protobuf leaves open.
pub(super) fn parts(mut model: ModelProto) -> Vec<Bytes> {
    let Some(mut graph) = model.graph.take() else { return vec![model.encode_to_vec().into()] };
    let mut inner = Parts::default();
    for mut tensor in std::mem::take(&mut graph.initializer) {
        inner.initializer(&mut tensor);
    }
    inner.end.put_slice(&graph.encode_to_vec());
    inner.close();
    let mut all = Parts::default();
    all.end.put_slice(&model.encode_to_vec());
    all.head(GRAPH_OF_MODEL, inner.parts.iter().map(Bytes::len).sum());
    all.close();
    all.parts.extend(inner.parts);
    all.parts
}

#[derive(Default)]
struct Parts {
    parts: Vec<Bytes>,
    /// What follows on the last of them.
    end: BytesMut,
}

impl Parts {
    fn close(&mut self) {
        let end = std::mem::take(&mut self.end);
        if !end.is_empty() {
            self.parts.push(end.freeze());
        }
    }

    /// The key of a field of so many bytes.
    fn head(&mut self, field: u32, length: usize) {
        encode_key(field, WireType::LengthDelimited, &mut self.end);
        encode_varint(length as u64, &mut self.end);
    }

    fn initializer(&mut self, tensor: &mut TensorProto) {
        let data = tensor.raw_data.take_if(|data| data.len() > SMALL);
        let rest = tensor.encode_to_vec();
        let Some(data) = data else {
            self.head(INITIALIZER_OF_GRAPH, rest.len());
            return self.end.put_slice(&rest);
        };
        let mut key = Vec::new();
        encode_key(RAW_DATA_OF_TENSOR, WireType::LengthDelimited, &mut key);
        let length = rest.len() + key.len() + encoded_len_varint(data.len() as u64) + data.len();
        self.head(INITIALIZER_OF_GRAPH, length);
        self.end.put_slice(&rest);
        self.head(RAW_DATA_OF_TENSOR, data.len());
        self.close();
        self.parts.push(data);
    }
}
