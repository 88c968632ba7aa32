import { expect, it } from 'vitest';
import { summarize, treeLines } from './native-profile.ts';
import type { Frame, Sample } from './native-samples.ts';

const root = '/repo/';
const handle: Frame = { kind: 'compiled', name: "JS:*'handle file:///repo/apps/ingress/src/handle.ts:7:3" };
const emit: Frame = { kind: 'compiled', name: "JS:+'emit node:events:489:44" };
const loop: Frame = { kind: 'library', name: 'uv_run' };
const write: Frame = { kind: 'kernel', name: '__x64_sys_write' };
const copy: Frame = { kind: 'kernel', name: 'copy_from_user' };
const collect: Frame = { kind: 'library', name: 'v8::internal::Heap::CollectGarbage' };
const mark: Frame = { kind: 'library', name: 'v8::internal::Mark' };
const compile: Frame = { kind: 'library', name: 'v8::internal::Compiler::Task::Run' };

const samples: Sample[] = [
  { thread: 'main', frames: [copy, write, handle, emit, loop] },
  { thread: 'main', frames: [handle, emit, loop] },
  { thread: 'main', frames: [mark, collect, handle, emit, loop] },
  { thread: 'main', frames: [loop] },
  { thread: 'V8Worker', frames: [mark, compile] },
  { thread: 'main', frames: [] },
];

it('tells the kernel, collections and other threads from the code that stood in their way', () => {
  const { layers, inclusive } = summarize(samples, 2, root);
  expect(Object.fromEntries(layers)).toEqual({
    kernel: 2,
    'apps/ingress/src/handle.ts': 2,
    'garbage collection': 2,
    'C++ of Node and V8': 2,
    'thread V8Worker: Compiler::Task': 2,
    '(unknown)': 2,
  });
  expect(inclusive).toEqual([
    ['handle apps/ingress/src/handle.ts:7', 6],
    ['system call write', 2],
  ]);
});

it('draws a tree of JavaScript, system calls and what they end in', () => {
  const { tree } = summarize(samples, 2, root);
  const lines = treeLines(tree, 2, String);
  expect(lines.slice(0, 5)).toEqual([
    '6  emit node:events:489',
    '6    handle apps/ingress/src/handle.ts:7',
    '2      system call write',
    '2        copy_from_user',
    '2      garbage collection',
  ]);
  expect(treeLines(tree, 3, String)).toEqual(lines.slice(0, 2));
});
