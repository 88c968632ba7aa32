#!/usr/bin/env node
import { runCli } from './cli.ts';

process.exitCode = await runCli(process.argv.slice(2), {
  environment: process.env,
  now: Date.now,
  write: (text) => process.stdout.write(text),
  writeError: (text) => process.stderr.write(text),
});
