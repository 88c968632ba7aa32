import { type LuaScript, putJobsFile, readLuaScript } from '@sluice/transport';

const own = (name: string): URL => new URL(`./scripts/${name}.lua`, import.meta.url);

/** Reads a script of scripts/ that works on the promises to look after books and not on the books. */
export function readPromiseScript(name: 'promise' | 'abandoned'): LuaScript {
  return readLuaScript(own(name));
}

/** Reads a script of scripts/ that works on books, preceded by the files whose functions it uses. */
export function readScript(name: 'reserve' | 'settle' | 'renew' | 'sweep' | 'inspect'): LuaScript {
  const books = [own('counts'), own('ledger')];
  if (name === 'inspect') return readLuaScript(...books, own('levels'), own(name));
  if (name !== 'reserve') return readLuaScript(...books, own(name));
  const before = [putJobsFile, own('fair-priority')];
  return readLuaScript(...before, ...books, own('levels'), own('fair-share'), own(name));
}
