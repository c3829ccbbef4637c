// The cube core's instructions.
#pragma once

#include "cube_fixpipe.h"
#include "cube_load3d.h"
#include "cube_mmad.h"
#include "cube_nd2nz.h"
#include "cube_sparse.h"
