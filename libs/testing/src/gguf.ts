import { writeFileSync } from 'node:fs';

/** The format's numbers for value types. */
const typeNumbers = { u32: 4, i32: 5, f32: 6, bool: 7, string: 8, array: 9 } as const;
const alignment = 32;
const version = 3;
/** The format's number for a tensor of 32-bit floats. */
const f32Tensor = 0;

/** One metadata value of a model, with its type. */
export type Metadata =
  | { type: 'u32' | 'i32' | 'f32'; value: number }
  | { type: 'bool'; value: boolean }
  | { type: 'string'; value: string }
  | { type: 'array'; of: 'i32' | 'f32' | 'string'; values: readonly (number | string)[] };

/** 32-bit floats; the dimension that varies fastest comes first. */
export interface Tensor {
  dimensions: readonly number[];
  values: Float32Array;
}

/** Writes a model file that llama.cpp can read. */
export function writeGguf(
  path: string,
  metadata: Readonly<Record<string, Metadata>>,
  tensors: Readonly<Record<string, Tensor>>,
): void {
  const file = new Writer();
  file.bytes(Buffer.from('GGUF'));
  file.u32(version);
  file.u64(Object.keys(tensors).length);
  file.u64(Object.keys(metadata).length);
  for (const [key, value] of Object.entries(metadata)) {
    file.string(key);
    file.metadata(value);
  }
  let offset = 0;
  for (const [name, { dimensions, values }] of Object.entries(tensors)) {
    file.string(name);
    file.u32(dimensions.length);
    for (const size of dimensions) file.u64(size);
    file.u32(f32Tensor);
    file.u64(offset);
    offset += values.byteLength + paddingAfter(values.byteLength);
  }
  file.pad();
  for (const { values } of Object.values(tensors)) {
    file.bytes(Buffer.from(values.buffer, values.byteOffset, values.byteLength));
    file.pad();
  }
  writeFileSync(path, file.whole());
}

class Writer {
  private readonly parts: Buffer[] = [];
  private length = 0;

  bytes(part: Buffer): void {
    this.parts.push(part);
    this.length += part.length;
  }

  u32(value: number): void {
    const part = Buffer.alloc(4);
    part.writeUInt32LE(value);
    this.bytes(part);
  }

  u64(value: number): void {
    const part = Buffer.alloc(8);
    part.writeBigUInt64LE(BigInt(value));
    this.bytes(part);
  }

  string(text: string): void {
    const part = Buffer.from(text);
    this.u64(part.length);
    this.bytes(part);
  }

  metadata(value: Metadata): void {
    this.u32(typeNumbers[value.type]);
    if (value.type !== 'array') {
      this.scalar(value.type, value.value);
      return;
    }
    this.u32(typeNumbers[value.of]);
    this.u64(value.values.length);
    for (const one of value.values) this.scalar(value.of, one);
  }

  pad(): void {
    this.bytes(Buffer.alloc(paddingAfter(this.length)));
  }

  whole(): Buffer {
    return Buffer.concat(this.parts);
  }

  private scalar(type: Exclude<Metadata['type'], 'array'>, value: number | string | boolean): void {
    if (type === 'string') {
      this.string(String(value));
      return;
    }
    const part = Buffer.alloc(type === 'bool' ? 1 : 4);
    if (type === 'bool') part.writeUInt8(value ? 1 : 0);
    else if (type === 'f32') part.writeFloatLE(Number(value));
    else if (type === 'i32') part.writeInt32LE(Number(value));
    else part.writeUInt32LE(Number(value));
    this.bytes(part);
  }
}

function paddingAfter(length: number): number {
  return (alignment - (length % alignment)) % alignment;
}
