// Another name of a part of the interface.
#pragma once

#include "acl.h"
