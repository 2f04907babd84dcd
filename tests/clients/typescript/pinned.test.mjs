import { pinned } from './kinds.mjs';
import { suite } from './suite.mjs';

suite(pinned);
