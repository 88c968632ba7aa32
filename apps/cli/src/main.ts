#!/usr/bin/env node
import { runCli } from './cli.ts';

// The rejection of `write` tells it.
process.stdout.on('error', () => undefined);

process.exitCode = await runCli(process.argv.slice(2), {
  environment: process.env,
  now: Date.now,
  write: (text) =>
    new Promise((resolve, reject) => {
      process.stdout.write(text, (error) => (error ? reject(error) : resolve()));
    }),
  writeError: (text) => process.stderr.write(text),
});
